import fc from 'fast-check';
import { isSuffixIndex, type Layer } from '../../../../src/autocomplete/index/layer/layer';
import {
  EMPTY_VIEW,
  entryCount,
  findEntry,
  readEntry,
  type View,
  viewWith,
} from '../../../../src/autocomplete/index/layer/view';
import { list } from '../../../../src/autocomplete/index/search/list';
import { queryOf } from '../../../../src/autocomplete/index/search/query';
import { type PageStart, suggest } from '../../../../src/autocomplete/index/search/view-suggest';
import { Work } from '../../../../src/autocomplete/index/work';
import { MATCH_KINDS, type MatchKind } from '../../../../src/autocomplete/suggestion';
import { fold } from '../../../../src/autocomplete/text/fold';
import { kindOf, packForms, wantedKinds } from '../../../../src/autocomplete/text/match';
import { kindsOf, profileOf, scripts, textOf } from '../../../support/autocomplete/dictionary-texts';
import {
  allListed,
  allSuggestions,
  changesOf,
  expectedOf,
  layerOf,
  queryFor,
  type TestEntry,
  viewOf,
} from '../../../support/autocomplete/index-view';
import { between, oneOf, seeded } from '../../../support/random';
import { assertWithinTime } from '../../../support/timed-property';

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

describe('a view of 1 to 4 layers', () => {
  it('suggests on all pages together what the model suggests, for all kinds and scripts', () => {
    assertWithinTime(
      fc.property(dictionaries, ({ changes, profile, queries, pageSize }) => {
        const { view, model } = viewOf(changes, profile);
        for (const [text, kinds] of queries) {
          const expected = model.suggest({ query: text, kinds });
          expect(allSuggestions(view, queryFor(text, kinds, model), pageSize)).toEqual(expected);
        }
      }),
    );
  });

  it('suggests for the beginnings, ends and misspellings of its texts what the model suggests', () => {
    const edits = fc.array(
      fc.tuple(fc.nat(20), fc.constantFrom('delete', 'swap', 'double', 'cut', 'behead')),
      {
        maxLength: 3,
      },
    );
    assertWithinTime(
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
    );
  });

  it('lists on all pages together what the model lists', () => {
    assertWithinTime(
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
    );
  });

  it('finds each entry by its id, and no deleted entry', () => {
    assertWithinTime(
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
    );
  });

  it('reports that the search was stopped, or gives the same answer as without a bound of work', () => {
    assertWithinTime(
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
    );
  });

  it('answers the same in another thread that gets the view by a message', () => {
    assertWithinTime(
      fc.property(dictionaries, ({ changes, profile, queries }) => {
        const { view, model } = viewOf(changes, profile);
        const received = structuredClone(view);
        for (const [text, kinds] of queries) {
          const query = queryFor(text, kinds, model);
          expect(allSuggestions(received, query, 7)).toEqual(allSuggestions(view, query, 7));
        }
      }),
    );
  });

  it('answers as before after later changes, because a view never changes', () => {
    assertWithinTime(
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

describe('large layers', () => {
  const viewOf = (...layers: readonly Layer[]): View =>
    layers.reduce((view, layer) => viewWith(view, layer, []), EMPTY_VIEW);
  const queryFor = (typed: string, kinds: readonly MatchKind[]) => queryOf(typed, wantedKinds(kinds, true));

  /** The kinds and ids of one page, and the steps of its search. */
  function pageOf(view: View, typed: string, kinds: readonly MatchKind[], limit: number, after?: PageStart) {
    const work = new Work();
    const page = suggest(view, queryFor(typed, kinds), limit, after, work);
    if (page.kind === 'stopped') throw new Error('the search was stopped');
    const last = page.entries.at(-1);
    return {
      found: page.entries.map(({ kind, entryId }) => `${kind} ${entryId}`),
      more: page.more,
      steps: work.spent,
      next: last && {
        kind: last.kind,
        at: { score: last.score, text: last.foldedText, entryId: last.entryId },
      },
    };
  }

  /** What all pages together must contain. The entries are in the order of rank. */
  function expectedFor(ranked: readonly TestEntry[], typed: string, kinds: readonly MatchKind[]): string[] {
    const wanted = wantedKinds(kinds, true);
    const found = ranked.map(({ id, text, aliases = [] }) => {
      const forms = packForms([text, ...aliases].map((one) => fold(one, 'kept')));
      return { id, kind: kindOf(forms, typed, wanted) };
    });
    return MATCH_KINDS.flatMap((kind) =>
      found.filter((one) => one.kind === kind).map(({ id }) => `${kind} ${id}`),
    );
  }

  describe('a layer of 3,000 random entries', () => {
    const random = seeded(7);
    const word = (letters: string) =>
      Array.from({ length: between(random, 1, 6) }, () => oneOf(random, [...letters])).join('');
    const entries: TestEntry[] = Array.from({ length: 3000 }, (_, number) => ({
      id: `${number}`,
      text: `${word('abcde')} ${word('abcdefg')}${number % 200 === 0 ? ' z' : ''}`,
      aliases: number % 3 === 0 ? [word('abcé')] : [],
      weight: Math.floor(random() ** 4 * 1000),
    }));
    const ranked = [...entries].sort(
      (a, b) =>
        (b.weight ?? 0) - (a.weight ?? 0) ||
        Buffer.compare(Buffer.from(a.text), Buffer.from(b.text)) ||
        Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)),
    );
    const layers: readonly [string, Layer][] = [
      ['sorted', layerOf(entries)],
      ['plain', layerOf(entries, Infinity)],
    ];

    it.each(layers)('answers all pages of dense and of rare matches exactly (%s)', (_, layer) => {
      const view = viewOf(layer);
      const queries: [string, MatchKind[]][] = [
        ['a', []],
        ['b', ['contains', 'word-prefix']],
        ['z', []],
        ['z', ['contains']],
        ['é', []],
        ['ab', ['suffix', 'contains']],
        ['abcd', ['typo']],
        ['abcde a', []],
        ['abc', ['exact', 'suffix']],
        ['', ['suffix']],
      ];
      for (const [typed, kinds] of queries) {
        const expected = expectedFor(ranked, typed, kinds);
        const found: string[] = [];
        for (let after: PageStart | undefined, size = 1; ; size = (size % 97) + 16) {
          const page = pageOf(view, typed, kinds, size, after);
          found.push(...page.found);
          after = page.next;
          expect(page.more).toBe(found.length < expected.length);
          if (!page.more) break;
        }
        expect(found).toEqual(expected);
      }
    });

    it('begins a page after the place of an entry that is gone', () => {
      const view = viewOf(layers[0]?.[1] as Layer);
      const after: PageStart = { kind: 'prefix', at: { score: 100, text: 'b', entryId: 'gone' } };
      const expected = ranked
        .filter(({ text, aliases = [] }) => [text, ...aliases].some((one) => one.startsWith('a')))
        .filter(({ text, weight = 0 }) => weight < 100 || (weight === 100 && text > 'b'))
        .map(({ id }) => `prefix ${id}`);
      expect(pageOf(view, 'a', ['prefix'], 10, after).found).toEqual(expected.slice(0, 10));
    });

    it('lists from the lower bound if the place of the last page is before the bound', () => {
      const expected = [...new Set(entries.map(({ text }) => text))].filter((text) => text >= 'c').sort();
      for (const [, layer] of layers) {
        const page = list(viewOf(layer), 'c', '', 1, { text: 'b', entryId: 'zzz' }, new Work());
        expect(page.kind === 'found' && page.entries.map(({ text }) => text)).toEqual(expected.slice(0, 1));
      }
    });

    it('begins a page before all entries of a kind, and leaves out better kinds', () => {
      const expected = expectedFor(ranked, 'ab', []).filter((one) => one.startsWith('suffix'));
      for (const [, layer] of layers) {
        const page = pageOf(viewOf(layer), 'ab', [], 5, { kind: 'suffix', at: 'first' });
        expect(page.found).toEqual(expected.slice(0, 5));
      }
    });
  });

  describe('many entries with equal texts', () => {
    const count = 10_000;
    const equal = (text: string): Layer =>
      layerOf(Array.from({ length: count }, (_, number) => ({ id: `${number}`, text, weight: number % 3 })));
    const anna = viewOf(equal('anna'));

    it('are found by a typo with little work, also if only typos are wanted', () => {
      expect(pageOf(anna, 'anan', ['typo'], 3).found).toEqual(['typo 1001', 'typo 1004', 'typo 1007']);
      for (const typed of ['anna', 'anan', 'annabell', 'bnna', 'anxx']) {
        expect(pageOf(anna, typed, ['typo'], 10).steps).toBeLessThan(2000);
      }
    });

    it('are found on deep pages with little work, because the next ranks match', () => {
      const after: PageStart = { kind: 'contains', at: { score: 1, text: 'anna', entryId: '5' } };
      const { found, steps } = pageOf(anna, 'n', [], 3, after);
      expect(found).toEqual(['contains 5002', 'contains 5005', 'contains 5008']);
      expect(steps).toBeLessThan(200);
    });

    it('are rejected one by one within the bound of work, or the search stops', () => {
      const view = viewOf(equal('annb anna'));
      const { found, steps } = pageOf(view, 'anna', ['typo'], 10);
      expect(found).toEqual([]);
      expect(steps).toBeLessThan(10 * count);
      const bounded = suggest(view, queryFor('anna', ['typo']), 10, undefined, new Work(3000));
      expect(bounded).toEqual({ kind: 'stopped' });
    });

    it('are listed in pages with little work for equal scores', () => {
      const after = { text: 'anna', entryId: '55' };
      const work = new Work();
      const page = list(anna, 'a', 'b', 3, after, work);
      const ids = Array.from({ length: count }, (_, number) => `${number}`).sort();
      const expected = ids.slice(ids.indexOf('55') + 1).slice(0, 3);
      expect(page.kind === 'found' && page.entries.map(({ entryId }) => entryId)).toEqual(expected);
      expect(work.spent).toBeLessThan(1000);
    });

    it('are listed exactly if all have different scores', () => {
      const entries = Array.from({ length: 2000 }, (_, number) => ({
        id: `${(number * 7919) % 2000}`,
        text: number % 10 === 0 ? 'annb' : 'anna',
        aliases: number % 10 === 0 ? ['anna'] : [],
        weight: number,
      }));
      const expected = [...entries].sort(
        (a, b) =>
          Buffer.compare(Buffer.from(a.text), Buffer.from(b.text)) ||
          Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)),
      );
      const listed = allListed(viewOf(layerOf(entries)), '', '', 70);
      expect(listed.map(({ entryId }) => entryId)).toEqual(expected.map(({ id }) => id));
    });
  });

  it('pages are exact if most candidates match by a better kind', () => {
    const entries = Array.from({ length: 8000 }, (_, number) => ({
      id: `${number}`,
      text: number % 10 === 0 ? 'xq' : 'qqqq',
      weight: 8000 - number,
    }));
    const expected = entries.filter((_, number) => number % 10 === 0).map(({ id }) => `contains ${id}`);
    for (const layer of [layerOf(entries), layerOf(entries, Infinity)]) {
      for (let limit = 60; limit < 100; limit += 1) {
        for (const start of [0, limit]) {
          const at = { score: 8000 - 10 * (start - 1), text: 'xq', entryId: 'zzz' };
          const after: PageStart = { kind: 'contains', at: start === 0 ? 'first' : at };
          const { found } = pageOf(viewOf(layer), 'q', ['prefix', 'contains'], limit, after);
          expect(found).toEqual(expected.slice(start, start + limit));
        }
      }
    }
  });

  describe('long and repeating texts', () => {
    const aliases = Array.from({ length: 16 }, (_, number) => 'a'.repeat(511 - number));
    const entries = Array.from({ length: 50 }, (_, number) => ({
      id: `${number}`,
      text: `${'a'.repeat(500)}${number}`,
      aliases,
    }));
    const layer = layerOf(entries);

    it('are examined once, and not again for each place of the query', () => {
      expect(isSuffixIndex(layer)).toBe(true);
      for (const kinds of [
        [],
        ['contains'],
        ['suffix'],
        ['prefix', 'contains'],
        ['suffix', 'contains'],
      ] as MatchKind[][]) {
        const { found, steps } = pageOf(viewOf(layer), 'a', kinds, 100);
        expect(found).toHaveLength(50);
        // 50 entries with 8,500 places of the query.
        expect(steps).toBeLessThan(50 * 8500);
      }
    });

    it('match a query that is longer than each text only by typos', () => {
      expect(pageOf(viewOf(layer), 'a'.repeat(512), [], 1).found).toEqual(['typo 0']);
      expect(pageOf(viewOf(layer), 'a'.repeat(514), [], 1).found).toEqual([]);
    });
  });
});
