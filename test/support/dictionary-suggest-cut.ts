import { dictionarySuggest } from '../../generated/redis/scripts';
import { packForms, kindOf, markWords } from '../../src/engine/autocomplete/match';
import type { Entry, MatchKind } from '../../src/engine/autocomplete/suggestion';
import { cutAfter } from './dictionary-budgets';
import { DictionaryFixture, entry } from './dictionary-fixture';
import { seeded } from './name-generator';

const SEED = 20_261_121;
const ENTRIES = 700;
/** No answer has nearly as many pages. If the paging does not end before this number of pages, the test fails. */
const MOST_PAGES = 2000;
const KINDS = { e: 'exact', p: 'prefix', w: 'word-prefix', s: 'suffix', c: 'contains' } as const;

/**
 * Tests that no page end hides or repeats a match, with random entries and random queries. `works` are the budgets of a
 * page. A large budget needs many queries, because few queries exceed it.
 */
export function testCutSuggestions(queryCount: number, works: readonly number[]): void {
  describe(`dictionary-suggest, if every page is cut short (seed ${SEED}),`, () => {
    const random = seeded(SEED);
    const oneOf = <T>(all: readonly T[]): T => all[random(all.length)] as T;
    /** Texts of few letters have much in common. Some letters need more than one byte. */
    const letters = (most: number) =>
      Array.from({ length: 1 + random(most) }, () => oneOf(['a', 'a', 'b', 'é', ' ']))
        .join('')
        .trim() || 'a';
    let fixture: DictionaryFixture;
    let name: string;
    let entries: readonly Entry[];
    beforeAll(async () => {
      fixture = await DictionaryFixture.open();
      name = fixture.name();
      await fixture.engine.createDictionary(name, { accents: 'kept', typos: true });
      entries = Array.from({ length: ENTRIES }, (_, i) =>
        entry(`e${i}`, letters(14), {
          weight: random(4),
          aliases: Array.from({ length: random(3) }, () => letters(9)),
        }),
      );
      await fixture.engine.putEntries(name, entries);
    });
    afterAll(() => fixture?.close());

    it.each(works)(
      'shows each match exactly once over all pages with a budget of %d per page',
      async (work) => {
        const lua = cutAfter(dictionarySuggest, work);
        let cuts = 0;
        for (let i = 0; i < queryCount; i += 1) {
          const asked = [...'epwsc'].filter(() => random(3) > 0).join('') || 'c';
          // A query of one or two characters searches only a bounded number of lists for `contains`.
          const query = letters(5) + (asked.includes('c') ? oneOf(['aa', 'ba', 'ab']) : '');
          const wanted = new Set([...asked].map((letter): MatchKind => KINDS[letter as keyof typeof KINDS]));
          const marked = markWords(query);
          const limit = oneOf([1, 2, 7, 40, 100]);
          const found: string[] = [];
          let at = ['', '', '', ''];
          for (let pages = 0; ; pages += 1) {
            expect(pages).toBeLessThan(MOST_PAGES);
            const [, , cut, next, page] = await fixture.run(
              lua,
              name,
              marked,
              marked,
              asked,
              `${limit}`,
              ...at,
            );
            cuts += Number(cut);
            for (const [kind, , id] of page as string[][])
              found.push(`${KINDS[kind as keyof typeof KINDS]} ${id}`);
            at = next as string[];
            if (at.length === 0) break;
          }
          const matching = entries.flatMap(({ entryId, text, aliases }) => {
            const kind = kindOf(packForms([text, ...aliases]), query, wanted);
            return kind === undefined ? [] : [`${kind} ${entryId}`];
          });
          expect([query, asked, limit, found.sort()]).toEqual([query, asked, limit, matching.sort()]);
        }
        expect(cuts).toBeGreaterThan(0);
      },
    );
  });
}
