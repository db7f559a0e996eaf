import fc from 'fast-check';
import { entryCount, findEntry, readEntry } from '../../../../src/autocomplete/index/layer/view';
import { list } from '../../../../src/autocomplete/index/search/list';
import { suggest } from '../../../../src/autocomplete/index/search/view-suggest';
import { Work } from '../../../../src/autocomplete/index/work';
import { kindsOf, profileOf, scripts, textOf } from '../../../support/autocomplete/dictionary-texts';
import {
  allListed,
  allSuggestions,
  changesOf,
  expectedOf,
  queryFor,
  viewOf,
} from '../../../support/autocomplete/index-view';

/** Characters with special rules for comparison, in groups that meet in one dictionary. */
const SPECIAL = [
  ['\u200b', '\u200d', '\ufeff', '\u00ad', 'a', 'b', ' '],
  ['i', 'I', 'İ', 'ı', 'i\u0307', 'a', ' '],
  ['ß', 'ẞ', 's', 'ss', 'ſ', ' '],
  ['\u0301', '\u0308', 'e', 'é', ' '],
  ['ש', 'ל', 'ו', '\u05b8', '\u200f', ' ', 'a'],
  ['𠮷', '野', '家', '𠮶', '\u{10ffff}', 'ー'],
  ['a', 'b', 'c'],
];
const specialText = (characters: readonly string[]) =>
  fc.array(fc.constantFrom(...characters), { minLength: 1, maxLength: 12 }).map((found) => found.join(''));

/** A text of one script: short texts, and texts that are long enough for typos. */
const textsOfOneScript = fc.oneof(
  fc
    .constantFrom(...scripts)
    .map((script) => fc.oneof({ weight: 3, arbitrary: textOf(script, 1, 6) }, textOf(script, 4, 14))),
  fc.constantFrom(...SPECIAL).map(specialText),
);

const dictionaries = textsOfOneScript.chain((text) =>
  fc.record({
    changes: changesOf(text),
    profile: profileOf,
    queries: fc.array(
      fc.tuple(fc.oneof({ weight: 1, arbitrary: fc.constant('') }, { weight: 9, arbitrary: text }), kindsOf),
      {
        minLength: 4,
        maxLength: 8,
      },
    ),
    pageSize: fc.integer({ min: 1, max: 7 }),
    bounds: fc.array(fc.oneof(fc.constant(''), text), { minLength: 2, maxLength: 2 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
);

const RUNS = 200;

describe('a view of 1 to 4 layers', () => {
  it('suggests on all pages together what the model suggests, for all kinds and scripts', () => {
    fc.assert(
      fc.property(dictionaries, ({ changes, profile, queries, pageSize }) => {
        const { view, model } = viewOf(changes, profile);
        for (const [text, kinds] of queries) {
          const expected = model.suggest({ query: text, kinds });
          expect(allSuggestions(view, queryFor(text, kinds, model), pageSize)).toEqual(expected);
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('suggests for the beginnings, ends and misspellings of its texts what the model suggests', () => {
    const edits = fc.array(
      fc.tuple(fc.nat(20), fc.constantFrom('delete', 'swap', 'double', 'cut', 'behead')),
      {
        maxLength: 3,
      },
    );
    fc.assert(
      fc.property(dictionaries, fc.array(edits, { minLength: 5, maxLength: 5 }), (dictionary, allEdits) => {
        const { view, model } = viewOf(dictionary.changes, dictionary.profile);
        const texts = model.list('', '').flatMap(({ text, aliases }) => [text, ...aliases]);
        for (const [index, edit] of allEdits.entries()) {
          const text = texts[(index * 7) % Math.max(texts.length, 1)] ?? '';
          const query = edit.reduce(edited, text);
          const kinds = dictionary.queries[index % 4]?.[1] ?? [];
          const expected = model.suggest({ query, kinds });
          expect(allSuggestions(view, queryFor(query, kinds, model), dictionary.pageSize)).toEqual(expected);
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('lists on all pages together what the model lists', () => {
    fc.assert(
      fc.property(dictionaries, ({ changes, profile, pageSize, bounds: [from = '', to = ''] }) => {
        const { view, model } = viewOf(changes, profile);
        for (const [low, high] of [
          ['', ''],
          [from, to],
        ] as const) {
          const listed = allListed(view, model.fold(low), model.fold(high), pageSize);
          expect(listed).toEqual(model.list(low, high));
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('finds each entry by its id, and no deleted entry', () => {
    fc.assert(
      fc.property(dictionaries, ({ changes, profile }) => {
        const { view, model } = viewOf(changes, profile);
        const listed = model.list('', '');
        expect(entryCount(view)).toBe(listed.length);
        const found = new Map(listed.map((entry) => [entry.entryId, entry]));
        for (let number = 0; number < 26; number += 1) {
          const place = findEntry(view, `id ${number}`);
          const entry = place && readEntry(place.layer, place.rank);
          expect(entry?.text).toBe(found.get(`id ${number}`)?.text);
          expect(entry?.selectionCount).toBe(found.get(`id ${number}`)?.selectionCount);
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('reports that the search was stopped, or gives the same answer as without a bound of work', () => {
    fc.assert(
      fc.property(dictionaries, ({ changes, profile, queries, pageSize, share }) => {
        const { view, model } = viewOf(changes, profile);
        for (const [text, kinds] of queries) {
          const query = queryFor(text, kinds, model);
          const work = new Work();
          const whole = suggest(view, query, pageSize, undefined, work);
          const bounded = suggest(view, query, pageSize, undefined, new Work(work.spent * share));
          if (bounded.kind === 'found') expect(bounded).toEqual(whole);
          expect(suggest(view, query, pageSize, undefined, new Work(work.spent + 1))).toEqual(whole);
        }
        const work = new Work();
        const whole = list(view, '', '', pageSize, undefined, work);
        const bounded = list(view, '', '', pageSize, undefined, new Work(work.spent * share));
        if (bounded.kind === 'found') expect(bounded).toEqual(whole);
      }),
      { numRuns: RUNS },
    );
  });

  it('answers the same in another thread that gets the view by a message', () => {
    fc.assert(
      fc.property(dictionaries, ({ changes, profile, queries }) => {
        const { view, model } = viewOf(changes, profile);
        const received = structuredClone(view);
        for (const [text, kinds] of queries) {
          const query = queryFor(text, kinds, model);
          expect(allSuggestions(received, query, 7)).toEqual(allSuggestions(view, query, 7));
        }
      }),
      { numRuns: 50 },
    );
  });

  it('answers as before after later changes, because a view never changes', () => {
    fc.assert(
      fc.property(dictionaries, ({ changes, profile }) => {
        const earlier = viewOf(changes.slice(0, 1), profile);
        const query = queryFor('', [], earlier.model);
        const before = suggest(earlier.view, query, 100, undefined, new Work());
        viewOf(changes, profile);
        expect(suggest(earlier.view, query, 100, undefined, new Work())).toEqual(before);
        if (before.kind === 'found') {
          expect(before.entries.map(expectedOf)).toEqual(earlier.model.suggest({ query: '', kinds: [] }));
        }
      }),
      { numRuns: 50 },
    );
  });
});

function edited(text: string, [at, edit]: readonly [number, string]): string {
  const characters = [...text];
  const index = Math.min(1 + at, characters.length - 1);
  if (edit === 'cut') return characters.slice(0, index + 1).join('');
  if (edit === 'behead') return characters.slice(index).join('');
  const [left = '', right = ''] = [characters[index], characters[index + 1]];
  if (edit === 'swap') characters.splice(index, 2, right, left);
  else characters.splice(index, 1, ...(edit === 'double' ? [left, left] : []));
  return characters.join('');
}
