import fc from 'fast-check';
import { rankRecents, suggestRecents } from '../../../src/autocomplete/recents';
import { isPageStart, mergePage, type PageStart, rankAfter } from '../../../src/autocomplete/suggest-page';
import {
  type Entry,
  MATCH_KINDS,
  type MatchKind,
  type Profile,
  type RankedEntry,
  type Ranking,
  type RankPosition,
  type Recent,
  type Suggestion,
} from '../../../src/autocomplete/suggestion';
import { asExpected } from '../../support/autocomplete/dictionary-fixture';
import { type Asked, DictionaryModel } from '../../support/autocomplete/dictionary-model';
import { entryOf, kindsOf, recentOf, textOf } from '../../support/autocomplete/dictionary-texts';
import { assertWithinTime } from '../../support/timed-property';

const PROFILE: Profile = { accents: 'dropped', typos: true };
const MOST_PAGES = 1000;

const entry = (entryId: string, text: string, rest: Partial<Entry> = {}): Entry => ({
  entryId,
  text,
  aliases: [],
  weight: 0,
  payload: Buffer.from(`payload of ${entryId}`),
  ...rest,
});
const recent = (text: string, entryId = ''): Recent => ({ text, entryId, payload: new Uint8Array() });

/** A dictionary that ranks all entries by the plain model, and answers a part of this ranking as a store does. */
class RankedDictionary {
  readonly model = new DictionaryModel(PROFILE);
  private readonly payloads = new Map<string, Uint8Array>();

  constructor(entries: readonly Entry[]) {
    for (const one of entries) {
      this.model.put(one);
      this.payloads.set(one.entryId, one.payload);
    }
  }

  /** The suggestions of all pages. Page n has the n-th size, and the store ranks `extra` entries more than a page has. */
  pages(asked: Asked, sizes: readonly number[], extra: number): Suggestion[] {
    const { query, kinds, recents = [] } = asked;
    const ranked = rankRecents(recents, { query, kinds, ...PROFILE });
    const found: Suggestion[] = [];
    let after: PageStart | undefined;
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const size = sizes[page % sizes.length] ?? 10;
      const ranking = this.ranking(asked, rankAfter(after), size + extra);
      const { suggestions, next } = mergePage(ranking, ranked, after, query, size);
      expect(suggestions.length).toBeLessThanOrEqual(size);
      found.push(...suggestions);
      if (next === undefined) return found;
      const start: unknown = JSON.parse(JSON.stringify(next));
      if (!isPageStart(start)) throw new Error(`the start of a page is refused: ${JSON.stringify(next)}`);
      after = start;
    }
    throw new Error('the pages do not end');
  }

  private ranking({ query, kinds }: Asked, after: RankPosition | undefined, limit: number): Ranking {
    const all = this.model.suggest({ query, kinds }).map((one): RankedEntry => {
      const { kind, entryId, text, score = 0 } = one;
      const payload = this.payloads.get(entryId) ?? new Uint8Array();
      return { kind, entryId, text, foldedText: this.model.fold(text), score, payload };
    });
    const from = after === undefined ? 0 : all.findIndex((one) => follows(one, after, all));
    const entries = from < 0 ? [] : all.slice(from, from + limit);
    const last = entries.at(-1);
    const isLastPage = last === undefined || from + limit >= all.length;
    return {
      profile: PROFILE,
      entries,
      next: isLastPage ? undefined : { kind: last.kind, at: { ...last, text: this.model.fold(last.text) } },
    };
  }
}

/** True if the entry comes after the position in the ranking of all entries. */
function follows(one: RankedEntry, { kind, at }: RankPosition, all: readonly RankedEntry[]): boolean {
  if (at === 'first') return MATCH_KINDS.indexOf(one.kind) >= MATCH_KINDS.indexOf(kind);
  return all.indexOf(one) > all.findIndex(({ entryId }) => entryId === at.entryId);
}

const shown = (found: readonly Suggestion[]) => found.map(({ entryId, text }) => `${text} ${entryId}`.trim());

describe('mergePage', () => {
  const apples = [entry('1', 'Apple'), entry('5', 'apple')];

  it('shows each entry once if a recent without an id has the text of an entry that another recent names', () => {
    const asked = { query: 'a', kinds: [], recents: [recent('APPLE'), recent('Old apple', '1')] };
    for (const size of [1, 2, 10]) {
      expect(shown(new RankedDictionary(apples).pages(asked, [size], 16))).toEqual([
        'APPLE 5',
        'Old apple 1',
      ]);
    }
  });

  it('joins a recent without an id with the best entry of its text, and shows the other entries of the text', () => {
    const three = [...apples, entry('7', 'APPLE', { weight: 3 })];
    const asked = { query: 'a', kinds: [], recents: [recent('apple')] };
    const found = new RankedDictionary(three).pages(asked, [10], 0);
    expect(shown(found)).toEqual(['apple 7', 'Apple 1', 'apple 5']);
    expect(found[0]).toMatchObject({ recent: true, score: 3, payload: Buffer.from('payload of 7') });
  });

  it('joins a recent without an id with only one entry when the entries are on different pages', () => {
    const many = Array.from({ length: 20 }, (_, n) => entry(`b${n}`, `ab ${n}`, { weight: 50 - n }));
    const scattered = [entry('1', 'Apple', { weight: 100 }), entry('5', 'apple', { weight: 40 }), ...many];
    const asked = { query: 'a', kinds: [], recents: [recent('APPLE')] };
    const found = shown(new RankedDictionary(scattered).pages(asked, [4], 2));
    expect(found.filter((one) => one.toLowerCase().startsWith('apple'))).toEqual(['APPLE 1', 'apple 5']);
    expect(found).toHaveLength(scattered.length);
  });

  it('shows an entry as an entry if the query does not match the recent with the id of the entry', () => {
    const asked = { query: 'app', kinds: ['prefix' as const], recents: [recent('Old apple', '1')] };
    expect(shown(new RankedDictionary(apples).pages(asked, [10], 0))).toEqual(['Apple 1', 'apple 5']);
  });

  it('agrees with the plain model on pages of any size, and shows no id twice', () => {
    const script = fc.constantFrom('two', 'latin', 'words');
    const cases = script.chain((name) =>
      fc.record({
        entries: fc.array(entryOf(name), { maxLength: 12 }),
        recents: fc.array(recentOf(name), { maxLength: 6 }),
        query: textOf(name, 0, 3),
        kinds: kindsOf,
        sizes: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 3 }),
        extra: fc.nat(4),
      }),
    );
    assertWithinTime(
      fc.property(cases, ({ entries, recents, query, kinds, sizes, extra }) => {
        const dictionary = new RankedDictionary(entries);
        const found = dictionary.pages({ query, kinds, recents }, sizes, extra);
        const expected = dictionary.model.suggest({ query, kinds, recents });
        const ids = found.map(({ entryId }) => entryId).filter((id) => id !== '');
        expect(ids).toEqual([...new Set(ids)]);
        // A recent without an id has the id of its entry, if the same page has the entry.
        const known = found.map((one, i) =>
          asExpected(one.recent && expected[i]?.entryId === '' ? { ...one, entryId: '' } : one),
        );
        expect(known).toEqual(expected);
      }),
    );
  });
});

const payload = Uint8Array.of(7);
const ask = (query: string, ...kinds: MatchKind[]) =>
  ({ query, kinds, accents: 'dropped', typos: true }) as const;
const textsOf = (recents: readonly Recent[], query: string, ...kinds: MatchKind[]): string[] =>
  suggestRecents(recents, ask(query, ...kinds), 1000).map(({ text }) => text);

describe('suggestRecents and rankRecents', () => {
  const recent = (text: string, entryId = ''): Recent => ({ text, entryId, payload });

  it('sort matching recents by kind and ignore case (chapter 5)', () => {
    const list = [
      'Leanne',
      'Mary Anne',
      'Suzanne',
      'ANNE',
      'Bob',
      'anneliese',
      'Xann Ex',
      'Anen',
      'Joanne B',
    ];
    const found = suggestRecents(
      list.map((text) => recent(text)),
      ask('aNNe'),
      1000,
    );
    expect(found.map(({ text, kind }) => [text, kind])).toEqual([
      ['ANNE', 'exact'],
      ['anneliese', 'prefix'],
      ['Mary Anne', 'word-prefix'],
      ['Leanne', 'suffix'],
      ['Suzanne', 'suffix'],
      ['Joanne B', 'contains'],
      ['Anen', 'typo'],
    ]);
  });

  it('search a list of 1,000 recents to its end (chapter 5)', () => {
    const list = Array.from({ length: 1000 }, (_, n) => recent(`contact ${n}`));
    expect(textsOf(list, 'ACT 999')).toEqual(['contact 999']);
  });

  it('list all recents, the most recent first, for an empty query', () => {
    const list = [recent('b'), recent('c', 'id'), recent('a')];
    expect(textsOf(list, '')).toEqual(['b', 'c', 'a']);
    expect(textsOf(list, '', 'exact', 'typo')).toEqual([]);
    // When accents are dropped, a query of accents alone folds to the empty query.
    expect(textsOf(list, '\u0301')).toEqual(['b', 'c', 'a']);
  });

  it('return the matched segments, the payload of the recent, and a score of 0', () => {
    expect(suggestRecents([recent('Élan vital', 'e1')], ask('ela'), 10)).toEqual([
      {
        entryId: 'e1',
        text: 'Élan vital',
        segments: [
          { text: 'Éla', matched: true },
          { text: 'n vital', matched: false },
        ],
        payload,
        kind: 'prefix',
        score: 0,
        recent: true,
      },
    ]);
  });

  it('return the best suggestions up to the limit', () => {
    const list = [recent('x anna'), recent('anna'), recent('annabel')];
    expect(suggestRecents(list, ask('anna'), 2).map(({ text }) => text)).toEqual(['anna', 'annabel']);
  });

  it('match by the profile of the dictionary', () => {
    const list = [recent('Résumé'), recent('résumé 2'), recent('reusme')];
    const ranked = rankRecents(list, { query: 'resume', kinds: [], accents: 'kept', typos: true });
    expect(ranked.map(({ folded, kind }) => [folded, kind])).toEqual([['reusme', 'typo']]);
    expect(rankRecents(list, { query: 'resume', kinds: [], accents: 'kept', typos: false })).toEqual([]);
  });

  it('show recents with the same entry id once, and recents with the same text once if an entry id is missing', () => {
    expect(textsOf([recent('New name', '1'), recent('Old name', '1')], 'name')).toEqual(['New name']);
    expect(textsOf([recent('New name', '1'), recent('Old name', '1')], 'old')).toEqual([]);
    expect(textsOf([recent('ANNA'), recent('anna'), recent('Ánna')], '')).toEqual(['ANNA']);
    expect(textsOf([recent('ANNA', '1'), recent('anna')], '')).toEqual(['ANNA']);
    expect(textsOf([recent('anna', '1'), recent('ANNA')], '')).toEqual(['anna']);
  });

  it('join a recent without an entry id with the latest recent of the same text, and with no other recent', () => {
    const list = [recent('ANNA'), recent('anna', '1'), recent('Anna', '2')];
    const shown = suggestRecents(list, ask(''), 10).map(({ text, entryId }) => [text, entryId]);
    expect(shown).toEqual([
      ['ANNA', '1'],
      ['Anna', '2'],
    ]);
    const without = { text: 'ANNA', entryId: '', payload: new Uint8Array() };
    expect(suggestRecents([without, recent('anna', '1')], ask(''), 1)[0]?.payload).toEqual(payload);
  });

  it('show two recents with the same text and different entry ids', () => {
    expect(textsOf([recent('Anna', '1'), recent('anna', '2')], '')).toEqual(['Anna', 'anna']);
  });

  it('agree with the plain model for any list and query', () => {
    const model = new DictionaryModel({ accents: 'dropped', typos: true });
    const text = fc.string({ unit: fc.constantFrom('a', 'B', 'é', ' ', 'b'), minLength: 1, maxLength: 5 });
    const id = fc.constantFrom<string>('', '', '1', '2', '3');
    const lists = fc.array(
      fc.tuple(text, id).map(([name, entryId]) => recent(name, entryId)),
      { maxLength: 20 },
    );
    assertWithinTime(
      fc.property(lists, text, fc.subarray([...MATCH_KINDS]), (list, query, kinds) => {
        const shown = suggestRecents(list, ask(query, ...kinds), 1000);
        expect(shown.map(asExpected)).toEqual(model.suggest({ query, kinds, recents: list }));
      }),
    );
  });
});
