import fc from 'fast-check';
import {
  type Entry,
  MATCH_KINDS,
  type Profile,
  type RankedEntry,
  type Ranking,
  type RankPosition,
  type Recent,
  type Suggestion,
} from '../../../src/autocomplete/suggestion';
import { rankRecents } from '../../../src/autocomplete/recents';
import { isPageStart, mergePage, rankAfter, type PageStart } from '../../../src/autocomplete/suggest-page';
import { entryOf, kindsOf, recentOf, textOf } from '../../support/autocomplete/dictionary-texts';
import { type Asked, DictionaryModel } from '../../support/autocomplete/dictionary-model';
import { asExpected } from '../../support/autocomplete/dictionary-fixture';

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
    fc.assert(
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
      { numRuns: 3000 },
    );
  });
});
