import fc from 'fast-check';
import { corpusTitle, itemsOf, sampleOf, type Corpus } from '../../bench/words/corpus';
import { madeWords } from '../../bench/words/made-words';
import { inside, misspelt, suffix, typed, wordPrefix } from '../../bench/words/queries';
import { zipf } from '../../bench/support/zipf';
import type { Words } from '../../bench/words/words';
import { fold } from '../../src/autocomplete/text/fold';
import { typoMatch } from '../../src/autocomplete/text/match';
import { seeded } from '../support/random';

const words: Words = {
  source: 'made for this test',
  lists: [true, true, false, false].map((ascii, index) => madeWords(index, 500, ascii)),
};
const corpus: Corpus = { of: 'names', count: 2000 };
const items = [...itemsOf(words, corpus)];
const texts = items.map(({ folded }) => folded);
const seeds = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const ASCII = /^[\0-\x7f]*$/;

test('itemsOf() makes different names, and a smaller corpus is the start of a larger corpus', () => {
  expect(new Set(texts).size).toBe(2000);
  expect(items.every(({ text, folded }) => fold(text, 'kept') === folded)).toBe(true);
  expect([...itemsOf(words, { ...corpus, count: 300 })]).toEqual(items.slice(0, 300));
  expect(corpusTitle(corpus)).toBe('2 k names');
});

test('itemsOf() makes as many names with ASCII letters only as other names', () => {
  const ascii = texts.filter((text) => ASCII.test(text)).length;
  expect(ascii).toBeGreaterThan(900);
  expect(ascii).toBeLessThan(1100);
});

test('itemsOf() gives a weight of 1 to half of the entries, and a weight of 10 or more to a tenth', () => {
  const weights = items.map(({ weight }) => weight);
  expect(weights.filter((weight) => weight === 1).length).toBeGreaterThan(800);
  expect(weights.filter((weight) => weight >= 10).length).toBeGreaterThan(100);
});

test('itemsOf() mixes the lists of words evenly', () => {
  const found = [...itemsOf(words, { of: 'words', count: 40 })];
  expect(found.filter(({ text }) => ASCII.test(text))).toHaveLength(20);
  expect(() => [...itemsOf(words, { of: 'words', count: 2001 })]).toThrow('fewer than 2001 words');
});

test('zipf() draws the n-th number n times less often than the first', () => {
  const random = seeded(1);
  const draw = zipf(1000);
  const counts = new Array<number>(1000).fill(0);
  for (let turn = 0; turn < 100_000; turn += 1) counts[draw(random)]! += 1;
  expect(counts[0]! / counts[9]!).toBeGreaterThan(8);
  expect(counts[0]! / counts[9]!).toBeLessThan(12);
});

test('sampleOf() takes entries from the whole corpus', () => {
  expect(sampleOf(words, corpus, 20).map(({ id }) => id)).toEqual(
    Array.from({ length: 20 }, (_, index) => String(index * 100)),
  );
  expect(sampleOf(words, corpus, 5000)).toEqual(items);
});

test('typed() makes queries that grow letter by letter to a prefix of a text', () => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const queries = typed(seeded(seed), texts, 16, 8);
      expect(queries).toEqual(typed(seeded(seed), texts, 16, 8));
      expect(queries.map((query) => query.length)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
      for (const [index, query] of queries.entries()) {
        const whole = queries[index - (index % 8) + 7]!;
        expect(whole.startsWith(query)).toBe(true);
        expect(texts.some((text) => text.startsWith(whole))).toBe(true);
      }
    }),
    { numRuns: 20 },
  );
});

test('queries for a part of a text match a text in the right way', () => {
  fc.assert(
    fc.property(seeds, fc.integer({ min: 2, max: 4 }), (seed, length) => {
      const random = seeded(seed);
      const part = inside(random, texts, length);
      expect(texts.some((text) => text.indexOf(part, 1) > 0)).toBe(true);
      const last = suffix(random, texts, length);
      expect(texts.some((text) => text.endsWith(last))).toBe(true);
      const word = wordPrefix(random, texts, length);
      expect(texts.some((text) => text.includes(` ${word}`))).toBe(true);
      expect([part, last, word].map((query) => query.length)).toEqual([length, length, length]);
    }),
    { numRuns: 50 },
  );
});

test('misspelt() makes exactly the given number of typos, none in the first letter', () => {
  const cases = fc.tuple(seeds, fc.integer({ min: 4, max: 9 }), fc.integer({ min: 1, max: 2 }));
  fc.assert(
    fc.property(cases, ([seed, length, most]) => {
      const typos = length < 8 ? 1 : most;
      const query = misspelt(seeded(seed), texts, length, typos);
      expect(query).toHaveLength(length);
      expect(texts.some((text) => typoMatch(query, text)?.distance === typos)).toBe(true);
    }),
    { numRuns: 50 },
  );
});
