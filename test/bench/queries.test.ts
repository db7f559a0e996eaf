import fc from 'fast-check';
import { entryIdOf, people } from '../../bench/support/people';
import { inside, misspelt, typed } from '../../bench/support/queries';
import { seeded } from '../support/random';
import { shardOf } from '../../bench/support/shards';
import { fold } from '../../src/engine/autocomplete/fold';
import { typoMatch } from '../../src/engine/autocomplete/typo';

const everybody = people(2000);
const names = everybody.map(({ name }) => name);
const seeds = fc.integer({ min: 0, max: 2 ** 32 - 1 });

test('people() makes different, folded names of about 18 bytes, and a smaller list is the start of a larger list', () => {
  expect(new Set(names).size).toBe(2000);
  expect(names.every((name) => fold(name, 'dropped') === name)).toBe(true);
  const length = names.join('').length / names.length;
  expect(length).toBeGreaterThan(15);
  expect(length).toBeLessThan(21);
  expect(people(3000).slice(0, 2000)).toEqual(everybody);
  expect(people(500)).toEqual(everybody.slice(0, 500));
  expect(entryIdOf(7)).not.toBe(entryIdOf(8));
});

test('people() gives a weight of 1 to many people, and a weight of 10 or more to few people', () => {
  const weights = everybody.map(({ weight }) => weight);
  expect(weights.filter((weight) => weight === 1).length).toBeGreaterThan(800);
  expect(weights.filter((weight) => weight >= 10).length).toBeGreaterThan(100);
  expect(Math.min(...weights)).toBe(1);
});

test('typed() makes the same queries from the same seed, and other queries from another seed', () => {
  const queries = (seed: number) => typed(seeded(seed), everybody, 40, 8);
  expect(queries(1)).toEqual(queries(1));
  expect(queries(1)).not.toEqual(queries(2));
});

test('typed() makes queries that grow letter by letter to a prefix of a name', () => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const queries = typed(seeded(seed), everybody, 16, 8);
      expect(queries.map((query) => query.length)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
      for (const [index, query] of queries.entries()) {
        const whole = queries[index - (index % 8) + 7]!;
        expect(whole.startsWith(query)).toBe(true);
        expect(names.some((name) => name.startsWith(whole))).toBe(true);
      }
    }),
  );
});

test('inside() makes a substring that starts after the first letter of a name', () => {
  fc.assert(
    fc.property(seeds, fc.integer({ min: 2, max: 6 }), (seed, length) => {
      const query = inside(seeded(seed), everybody, length);
      expect(query).toHaveLength(length);
      expect(names.some((name) => name.indexOf(query, 1) > 0)).toBe(true);
    }),
  );
});

test('misspelt() makes exactly the given number of typos, none in the first letter', () => {
  const cases = fc.tuple(seeds, fc.integer({ min: 5, max: 12 }), fc.integer({ min: 1, max: 2 }));
  fc.assert(
    fc.property(cases, ([seed, length, most]) => {
      const typos = length < 8 ? 1 : most;
      const query = misspelt(seeded(seed), everybody, length, typos);
      expect(query).toHaveLength(length);
      expect(names.some((name) => typoMatch(query, name)?.distance === typos)).toBe(true);
    }),
  );
});

test('shardOf() puts names with the same first two letters into the same shard, and leaves no shard empty', () => {
  const shards = new Map<string, number>();
  for (const name of names) {
    const shard = shardOf(name, 16);
    expect(shards.get(name.slice(0, 2)) ?? shard).toBe(shard);
    shards.set(name.slice(0, 2), shard);
  }
  expect([...new Set(shards.values())].sort((a, b) => a - b)).toEqual(
    Array.from({ length: 16 }, (_, i) => i),
  );
});
