import fc from 'fast-check';
import { RankingModel, recallOf } from '../../bench/support/ranking-model';
import { packForms, kindOf } from '../../src/engine/autocomplete/match';
import { MATCH_KINDS } from '../../src/engine/autocomplete/suggestion';

const person = (name: string, weight = 1) => ({ name, weight });
const ALL = new Set(MATCH_KINDS);

test('answers stand in the order of kinds, then of weights, then of names', () => {
  const model = new RankingModel([
    person('leonora'),
    person('anna leona', 9),
    person('leona'),
    person('leonida', 5),
    person('napoleona', 7),
    person('leonas', 5),
    person('liona', 8),
    person('bob'),
  ]);
  // leona; leonas; anna leona (a word); napoleona (the end); liona, leonida and leonora are a slip away.
  const { ranked, misspelt } = model.answer('leona');
  expect(ranked).toEqual([2, 5, 1, 4, 6, 3, 0]);
  expect([...misspelt].sort()).toEqual([0, 3, 6]);
  expect(model.answer('xyz')).toEqual({ ranked: [], misspelt: [] });
});

test('finds what looking at one name after the other finds', () => {
  const name = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' '), minLength: 1, maxLength: 9 });
  const names = fc.uniqueArray(name, { minLength: 1, maxLength: 30 });
  const query = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' '), minLength: 1, maxLength: 9 });
  fc.assert(
    fc.property(names, query, (all, asked) => {
      const { ranked, misspelt } = new RankingModel(all.map((one) => person(one))).answer(asked);
      const kinds = all.map((one) => kindOf(packForms([one]), asked, ALL));
      const right = kinds.flatMap((kind, index) => (kind === undefined ? [] : [index]));
      expect([...ranked].sort((a, b) => a - b)).toEqual(right);
      const typos = kinds.flatMap((kind, index) => (kind === 'typo' ? [index] : []));
      expect([...misspelt].sort((a, b) => a - b)).toEqual(typos);
    }),
    { numRuns: 300 },
  );
});

test('recall counts what was found and what stands at its place, and ignores what is beside', () => {
  expect(recallOf(['a', 'b', 'c', 'd'], ['b', 'a', 'c', 'x'])).toEqual({ found: 0.75, placed: 0.25 });
  expect(recallOf(['a', 'b'], ['a', 'b', 'c'])).toEqual({ found: 1, placed: 1 });
  expect(recallOf(['a', 'b'], [])).toEqual({ found: 0, placed: 0 });
  expect(recallOf([], ['a'])).toEqual({ found: 1, placed: 1 });
});
