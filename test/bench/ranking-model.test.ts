import fc from 'fast-check';
import { RankingModel, recallOf } from '../../bench/support/ranking-model';
import { packForms, kindOf } from '../../src/engine/autocomplete/match';
import { MATCH_KINDS } from '../../src/engine/autocomplete/suggestion';

const person = (name: string, weight = 1) => ({ name, weight });
const ALL = new Set(MATCH_KINDS);

test('the ranking model orders matches by kind, then weight, then name', () => {
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
  // leona is an exact match, leonas a prefix match, anna leona a word prefix match, and napoleona a suffix match. The query is
  // a typo of liona, leonida and leonora.
  const { ranked, typos } = model.answer('leona');
  expect(ranked).toEqual([2, 5, 1, 4, 6, 3, 0]);
  expect([...typos].sort()).toEqual([0, 3, 6]);
  expect(model.answer('xyz')).toEqual({ ranked: [], typos: [] });
});

test('the ranking model finds the same names as a comparison of each name with the query', () => {
  const name = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' '), minLength: 1, maxLength: 9 });
  const names = fc.uniqueArray(name, { minLength: 1, maxLength: 30 });
  const query = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' '), minLength: 1, maxLength: 9 });
  fc.assert(
    fc.property(names, query, (all, asked) => {
      const { ranked, typos } = new RankingModel(all.map((listed) => person(listed))).answer(asked);
      const kinds = all.map((listed) => kindOf(packForms([listed]), asked, ALL));
      const right = kinds.flatMap((kind, index) => (kind === undefined ? [] : [index]));
      expect([...ranked].sort((a, b) => a - b)).toEqual(right);
      const rightTypos = kinds.flatMap((kind, index) => (kind === 'typo' ? [index] : []));
      expect([...typos].sort((a, b) => a - b)).toEqual(rightTypos);
    }),
    { numRuns: 300 },
  );
});

test('recallOf returns the share of right entries that are found, and the share at the right position', () => {
  expect(recallOf(['a', 'b', 'c', 'd'], ['b', 'a', 'c', 'x'])).toEqual({ found: 0.75, placed: 0.25 });
  expect(recallOf(['a', 'b'], ['a', 'b', 'c'])).toEqual({ found: 1, placed: 1 });
  expect(recallOf(['a', 'b'], [])).toEqual({ found: 0, placed: 0 });
  expect(recallOf([], ['a'])).toEqual({ found: 1, placed: 1 });
});
