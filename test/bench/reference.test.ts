import fc from 'fast-check';
import { Reference } from '../../bench/support/reference';
import { kindOf, packForms } from '../../src/autocomplete/text/match';
import { MATCH_KINDS, type MatchKind } from '../../src/autocomplete/suggestion';

const item = (folded: string, weight = 1) => ({ folded, weight });
const reference = Reference.of([
  item('leonora'),
  item('anna leona', 9),
  item('leona'),
  item('leonida', 5),
  item('napoleona', 7),
  item('leonas', 5),
  item('liona', 8),
  item('bob'),
]);
/** The ids in the order of the contract: exact, prefix, word prefix, suffix, typos by weight. */
const RANKED = ['2', '5', '1', '4', '6', '3', '0'];

function judge(answered: readonly string[], kinds: readonly MatchKind[] = MATCH_KINDS, byWeight = false) {
  return reference.judge({ query: 'leona', kinds, byWeight, answered });
}

test('the reference orders matches by kind, then weight, then text', () => {
  expect(judge(RANKED)).toEqual({ found: 1, placed: 1 });
});

test('recall is the share of the best entries that were answered, in any order', () => {
  expect(judge([...RANKED].reverse())).toEqual({ found: 1, placed: 1 / 7 });
  expect(judge(RANKED.slice(0, 3)).found).toBeCloseTo(3 / 7);
  expect(judge([])).toEqual({ found: 0, placed: 0 });
});

test('recall does not count an entry twice, or an entry that does not match', () => {
  expect(judge(['2', '2', '7']).found).toBeCloseTo(1 / 7);
});

test('recall ranks by weight alone for systems that do not rank by kind', () => {
  expect(judge(['1', '5', '2'], ['prefix', 'word-prefix'], true)).toEqual({ found: 1, placed: 1 });
});

test('recall is 1 if nothing matches', () => {
  expect(reference.judge({ query: 'xyz', kinds: MATCH_KINDS, byWeight: false, answered: [] })).toEqual({
    found: 1,
    placed: 1,
  });
});

test('entries of the same kind and weight count alike', () => {
  const alike = Reference.of(
    Array.from({ length: 30 }, (_, index) => item(`anna ${String.fromCharCode(97 + index)}`)),
  );
  const answered = Array.from({ length: 10 }, (_, index) => String(20 + index));
  const judged = alike.judge({ query: 'anna', kinds: ['prefix'], byWeight: false, answered });
  expect(judged).toEqual({ found: 1, placed: 0 });
});

test('the reference finds the same entries as a comparison of each text with the query', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'ä', ' '), minLength: 1, maxLength: 9 });
  fc.assert(
    fc.property(fc.array(fc.tuple(text, fc.nat(3)), { minLength: 1, maxLength: 8 }), text, (all, query) => {
      const matching = all.flatMap(([folded, weight], index) => {
        const kind = kindOf(packForms([folded]), query, new Set(MATCH_KINDS));
        return kind === undefined
          ? []
          : [{ id: String(index), folded, weight, rank: MATCH_KINDS.indexOf(kind) }];
      });
      const ranked = matching.sort(
        (a, b) =>
          a.rank - b.rank || b.weight - a.weight || (a.folded < b.folded ? -1 : a.folded > b.folded ? 1 : 0),
      );
      const answered = ranked.map(({ id }) => id);
      const judged = Reference.of(all.map(([folded, weight]) => item(folded, weight)));
      expect(judged.judge({ query, kinds: MATCH_KINDS, byWeight: false, answered })).toEqual({
        found: 1,
        placed: 1,
      });
      if (answered.length === 0) return;
      const others = answered.slice(1);
      expect(
        judged.judge({ query, kinds: MATCH_KINDS, byWeight: false, answered: others }).found,
      ).toBeLessThan(1);
    }),
    { numRuns: 200 },
  );
});
