import fc from 'fast-check';
import type { Engine } from '../../bench/peers/peer';
import { sqliteTrigram } from '../../bench/peers/sqlite-trigram';
import { zrangebylex } from '../../bench/peers/zrangebylex';
import { Reference } from '../../bench/support/reference';
import { zipf } from '../../bench/support/zipf';
import { type Corpus, corpusTitle, type Item, itemsOf, sampleOf } from '../../bench/words/corpus';
import { madeWords } from '../../bench/words/made-words';
import { inside, misspelt, suffix, typed, wordPrefix } from '../../bench/words/queries';
import type { Words } from '../../bench/words/words';
import { MATCH_KINDS, type MatchKind } from '../../src/autocomplete/suggestion';
import { fold } from '../../src/autocomplete/text/fold';
import { kindOf, packForms, typoMatch } from '../../src/autocomplete/text/match';
import { seeded } from '../support/random';
import { assertWithinTime } from '../support/timed-property';

describe('words', () => {
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
    assertWithinTime(
      fc.property(seeds, (seed) => {
        const queries = typed(seeded(seed), texts, 16, 8);
        expect(queries).toEqual(typed(seeded(seed), texts, 16, 8));
        expect(queries.map((query) => query.length)).toEqual([
          1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8,
        ]);
        for (const [index, query] of queries.entries()) {
          const whole = queries[index - (index % 8) + 7]!;
          expect(whole.startsWith(query)).toBe(true);
          expect(texts.some((text) => text.startsWith(whole))).toBe(true);
        }
      }),
    );
  });

  test('queries for a part of a text match a text in the right way', () => {
    assertWithinTime(
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
    );
  });

  test('misspelt() makes exactly the given number of typos, none in the first letter', () => {
    const cases = fc.tuple(seeds, fc.integer({ min: 4, max: 9 }), fc.integer({ min: 1, max: 2 }));
    assertWithinTime(
      fc.property(cases, ([seed, length, most]) => {
        const typos = length < 8 ? 1 : most;
        const query = misspelt(seeded(seed), texts, length, typos);
        expect(query).toHaveLength(length);
        expect(texts.some((text) => typoMatch(query, text)?.distance === typos)).toBe(true);
      }),
    );
  });
});

describe('the reference of right answers', () => {
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
    assertWithinTime(
      fc.property(fc.array(fc.tuple(text, fc.nat(3)), { minLength: 1, maxLength: 8 }), text, (all, query) => {
        const matching = all.flatMap(([folded, weight], index) => {
          const kind = kindOf(packForms([folded]), query, new Set(MATCH_KINDS));
          return kind === undefined
            ? []
            : [{ id: String(index), folded, weight, rank: MATCH_KINDS.indexOf(kind) }];
        });
        const ranked = matching.sort(
          (a, b) =>
            a.rank - b.rank ||
            b.weight - a.weight ||
            (a.folded < b.folded ? -1 : a.folded > b.folded ? 1 : 0),
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
    );
  });
});

describe('other systems', () => {
  const NAMES = ['anna müller', 'anna maria', 'мария иванова', 'hannah mu', 'zoe'];
  const items: Item[] = NAMES.map((name, index) => ({
    id: String(index),
    text: name,
    folded: name,
    weight: index + 1,
  }));

  async function opened(open: typeof zrangebylex.open): Promise<Engine | undefined> {
    const engine = await open();
    if ('missing' in engine) return undefined;
    await engine.load('names', items);
    await engine.empty();
    return engine;
  }

  test('ZRANGEBYLEX answers the ids of texts with a prefix in the order of texts', async () => {
    const engine = (await opened(() => zrangebylex.open()))!;
    expect(await engine.find('names', 'prefix', 'anna ')).toEqual(['1', '0']);
    expect(await engine.find('names', 'prefix', 'мар')).toEqual(['2']);
    expect(await engine.find('names', 'prefix', 'x')).toEqual([]);
    await engine.close();
  });

  test('SQLite trigrams answer parts of texts in the order of weights', async () => {
    const engine = await opened(() => sqliteTrigram.open());
    if (engine === undefined) return; // This machine has no Python with SQLite and trigrams.
    expect(await engine.find('names', 'prefix', 'an')).toEqual(['1', '0']);
    expect(await engine.find('names', 'word prefix', 'mu')).toEqual(['3']);
    expect(await engine.find('names', 'word prefix', 'an')).toEqual(['1', '0']);
    expect(await engine.find('names', 'suffix', 'ва')).toEqual(['2']);
    expect(await engine.find('names', 'contains', 'nna')).toEqual(['3', '1', '0']);
    await engine.close();
  });
});
