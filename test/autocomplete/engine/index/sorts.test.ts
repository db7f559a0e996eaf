import fc from 'fast-check';
import { fillMinima, minimaLengths, rangeMinimum } from '../../../../src/autocomplete/index/build/minima';
import { CharacterStarts } from '../../../../src/autocomplete/index/build/starts';
import { readEntry } from '../../../../src/autocomplete/index/layer/view';
import { LowestPositions } from '../../../../src/autocomplete/index/search/intervals';
import { endOfEqualForms } from '../../../../src/autocomplete/index/search/list';
import { firstRankAfter, formOf, rankAt } from '../../../../src/autocomplete/index/search/places';
import { ByteSearch, NOT_FOUND, OUT_OF_WORK } from '../../../../src/autocomplete/index/search/plain-search';
import { LowestRanks } from '../../../../src/autocomplete/index/search/suffix-search';
import { KeySorter } from '../../../../src/autocomplete/index/sort/key-sorter';
import { FIXED_DEPTH, PrefixSort } from '../../../../src/autocomplete/index/sort/prefix-sort';
import { sortForms, sortGroups, sortSuffixes } from '../../../../src/autocomplete/index/sort/suffix-sort';
import { Work, WorkMeter } from '../../../../src/autocomplete/index/work';
import { indexOf, layerOf, someEntries } from '../../../support/autocomplete/index-view';
import { assertWithinTime } from '../../../support/timed-property';

describe('the lowest entries', () => {
  describe('LowestPositions', () => {
    it('returns the positions of all intervals from the lowest to the highest', () => {
      const texts = fc.array(
        fc.string({ unit: fc.constantFrom('a', 'b', ' '), minLength: 1, maxLength: 8 }),
        {
          minLength: 1,
          maxLength: 60,
        },
      );
      assertWithinTime(
        fc.property(texts, fc.array(fc.tuple(fc.nat(400), fc.nat(400)), { maxLength: 3 }), (all, bounds) => {
          const index = indexOf(all.map((text, number) => ({ id: `${number}`, text })));
          const lists = [index.beginnings, index.otherStarts, index.wordStarts];
          const intervals = bounds.map(([a, b], number) => {
            const list = lists[number] ?? index.beginnings;
            const from = Math.min(a, list.positions.length);
            return { list, from, to: Math.max(from, Math.min(b, list.positions.length)) };
          });
          const expected = intervals.flatMap(({ list, from, to }) => [...list.positions.subarray(from, to)]);
          const lowest = new LowestPositions(intervals);
          const found: number[] = [];
          for (let position = lowest.next(); position >= 0; position = lowest.next()) found.push(position);
          expect(found).toEqual(expected.sort((a, b) => a - b));
        }),
      );
    });
  });

  describe('LowestRanks', () => {
    it('keeps the lowest ranks in order', () => {
      assertWithinTime(
        fc.property(fc.uniqueArray(fc.nat(100)), fc.integer({ min: 1, max: 8 }), (ranks, limit) => {
          const lowest = new LowestRanks(limit);
          for (const rank of ranks) {
            const accepted = lowest.accepts(rank);
            lowest.add(rank);
            expect(lowest.has(rank)).toBe(accepted);
          }
          const expected = [...ranks].sort((a, b) => a - b).slice(0, limit);
          expect(lowest.ranks).toEqual(expected);
          expect(lowest.isFull).toBe(ranks.length >= limit);
        }),
      );
    });
  });

  describe('ByteSearch', () => {
    const bytes = Buffer.from('ab');
    const find = (forms: Buffer, atBeginning: boolean, atEnd: boolean, work = new Work()) => {
      const search = new ByteSearch(forms, bytes, { atBeginning, atEnd });
      const found: number[] = [];
      for (let at = search.next(0, work); at !== NOT_FOUND; at = search.next(at + 1, work)) {
        if (at === OUT_OF_WORK) return undefined;
        found.push(at);
      }
      return found;
    };

    it('finds the bytes anywhere, at the beginnings of forms and at the ends of forms', () => {
      const forms = Buffer.from('ab\0cab\0abab\0b\0');
      expect(find(forms, false, false)).toEqual([0, 4, 7, 9]);
      expect(find(forms, true, false)).toEqual([0, 7]);
      expect(find(forms, false, true)).toEqual([0, 4, 9]);
      expect(find(forms, true, true)).toEqual([0]);
      expect(find(Buffer.alloc(0), true, false)).toEqual([]);
    });

    it('finds the bytes at each place of more than 64 KiB', () => {
      const forms = Buffer.alloc(300_000, 'x');
      const places = [0, 65_533, 65_536, 65_539, 98_303, 131_071, 200_000, 299_997];
      for (const place of places) forms.write('ab\0', place);
      expect(find(forms, false, false)).toEqual(places);
      expect(find(forms, false, true)).toEqual(places);
    });

    it('finds bytes that begin near the end of a window', () => {
      for (let place = 65_530; place < 65_545; place += 1) {
        const forms = Buffer.alloc(200_000, 'x');
        forms.write('\0ab\0', place);
        expect(find(forms, false, false)).toEqual([place + 1]);
        expect(find(forms, true, true)).toEqual([place + 1]);
      }
    });

    it('stops at the bound of work', () => {
      expect(find(Buffer.alloc(300_000, 'x'), false, false, new Work(400))).toBeUndefined();
    });
  });

  it('endOfEqualForms finds the end of a run of equal forms of any length', () => {
    assertWithinTime(
      fc.property(fc.array(fc.nat(20), { minLength: 1, maxLength: 5 }), fc.nat(100), (counts, limit) => {
        const texts = counts.flatMap((count, letter) =>
          Array<string>(count).fill('aab'.slice(0, letter % 3) + letter),
        );
        fc.pre(texts.length > 0);
        const index = indexOf(texts.map((text, number) => ({ id: `${number}`, text })));
        const forms = [...index.beginnings.positions].map(
          (at) => readEntry(index, rankAt(index.formsAt, at)).text,
        );
        const to = Math.min(limit + 1, forms.length);
        for (let element = 0; element < to; element += 1) {
          const different = forms.findIndex((form, other) => other > element && form !== forms[element]);
          expect(endOfEqualForms(index, element, to)).toBe(different < 0 ? to : Math.min(different, to));
        }
      }),
    );
  });

  it('firstRankAfter finds the rank after each entry, and before entries that come later', () => {
    assertWithinTime(
      fc.property(someEntries(8), (entries) => {
        const table = layerOf(entries);
        for (let rank = 0; rank < table.count; rank += 1) {
          const { score, foldedText, entryId } = readEntry(table, rank);
          const form = formOf(foldedText);
          expect(firstRankAfter(table, { score, form, id: Buffer.from(entryId) })).toBe(rank + 1);
          expect(firstRankAfter(table, { score, form, id: Buffer.from(`${entryId}\u0001`) })).toBe(rank + 1);
          expect(
            firstRankAfter(table, { score: score + 0.5, form, id: Buffer.alloc(0) }),
          ).toBeLessThanOrEqual(rank);
        }
      }),
    );
  });
});

describe('minima of intervals', () => {
  function levelsOver(list: Uint32Array): Uint32Array[] {
    const levels = [
      list,
      ...minimaLengths(list.length).map((length) => new Uint32Array(length).fill(0xffffffff)),
    ];
    fillMinima(levels, new WorkMeter());
    return levels;
  }

  /** Different numbers in an order without pattern. */
  const shuffled = (length: number): Uint32Array =>
    Uint32Array.from({ length }, (_, index) => (index * 2_654_435_761) % 4_294_967_291);

  const naiveMinimum = (list: Uint32Array, from: number, to: number): number =>
    list.indexOf(Math.min(...list.subarray(from, to)), from);

  it.each([1, 2, 31, 32, 33, 64, 65])(
    'finds the minimum of every interval of a list of %i numbers',
    (length) => {
      const list = shuffled(length);
      const levels = levelsOver(list);
      for (let from = 0; from < length; from++) {
        for (let to = from + 1; to <= length; to++) {
          expect(rangeMinimum(levels, from, to)).toBe(naiveMinimum(list, from, to));
        }
      }
    },
  );

  it.each([1023, 1024, 1025, 40_000])(
    'finds the minimum of any interval of a list of %i numbers',
    (length) => {
      const list = shuffled(length);
      const levels = levelsOver(list);
      const bounds = fc.tuple(fc.nat(length - 1), fc.nat(length - 1));
      assertWithinTime(
        fc.property(bounds, ([a, b]) => {
          const [from, to] = [Math.min(a, b), Math.max(a, b) + 1];
          expect(rangeMinimum(levels, from, to)).toBe(naiveMinimum(list, from, to));
        }),
      );
    },
  );

  test('has no level for an empty list, and no more than 32 elements in the last level', () => {
    expect(minimaLengths(0)).toEqual([]);
    expect(minimaLengths(32)).toEqual([]);
    expect(minimaLengths(33)).toEqual([2]);
    expect(minimaLengths(32 * 32 + 1)).toEqual([33, 2]);
  });
});

describe('the sort of suffixes', () => {
  const bytesOf = (forms: readonly string[]): Uint8Array =>
    Buffer.from(forms.map((form) => `${form}\0`).join(''));

  /** The positions of every character and of every empty form. */
  function startsIn(forms: Uint8Array): number[] {
    const positions = Array.from({ length: forms.length }, (_, at) => at);
    return positions.filter((at) =>
      forms[at] === 0 ? (forms[at - 1] ?? 0) === 0 : (forms[at]! & 0xc0) !== 0x80,
    );
  }

  function naiveSort(forms: Uint8Array, positions: readonly number[]): number[] {
    const suffixes = new Map(
      positions.map((at) => [at, Buffer.from(forms.subarray(at, forms.indexOf(0, at)))]),
    );
    return [...positions].sort((a, b) => Buffer.compare(suffixes.get(a)!, suffixes.get(b)!) || a - b);
  }

  function sorted(forms: Uint8Array, meter = new WorkMeter()): Uint32Array {
    const positions = new Uint32Array(startsIn(forms).length);
    sortSuffixes(forms, positions, new Uint32Array(positions.length), meter);
    return positions;
  }

  /** Sorts without comparisons beyond FIXED_DEPTH, so that equal beginnings are left to prefix doubling. */
  function sortedByDoubling(forms: Uint8Array): {
    readonly positions: Uint32Array;
    readonly groupCount: number;
  } {
    const positions = new Uint32Array(startsIn(forms).length);
    const scratch = new Uint32Array(positions.length);
    const meter = new WorkMeter();
    const sort = new PrefixSort(forms, positions, scratch, meter, 0);
    sort.sort(new CharacterStarts(forms, positions.length));
    const groupCount = sort.groups.count;
    sortGroups(forms, positions, scratch, { groups: sort.groups, equalBytes: FIXED_DEPTH }, meter);
    return { positions, groupCount };
  }

  const unit = fc.constantFrom('a', 'b', 'é', '漢', '漣', '😀', ' ');
  const shortForm = fc.string({ unit, maxLength: 6 });
  /** Forms with long common beginnings and endings. */
  const longForm = fc
    .tuple(shortForm, fc.constantFrom('a', 'ab', 'aé', '漢', '漢漣', '😀', 'ab 漢'), fc.nat(150), shortForm)
    .map(([start, period, count, end]) => start + period.repeat(count) + end);

  test('sorts the characters of short forms by the bytes that follow', () => {
    assertWithinTime(
      fc.property(fc.array(shortForm, { maxLength: 20 }), (texts) => {
        const forms = bytesOf(texts);
        expect([...sorted(forms)]).toEqual(naiveSort(forms, startsIn(forms)));
      }),
    );
  });

  test('sorts the characters of long, similar forms by comparison and by doubling', () => {
    assertWithinTime(
      fc.property(fc.array(longForm, { maxLength: 6 }), (texts) => {
        const forms = bytesOf(texts);
        const expected = naiveSort(forms, startsIn(forms));
        expect([...sorted(forms)]).toEqual(expected);
        expect([...sortedByDoubling(forms).positions]).toEqual(expected);
      }),
    );
  });

  it.each([
    ['names', (n: number) => `anna ${(n * 7919) % 1000} strand ${n % 17}`],
    ['names of Han characters', (n: number) => `漢字${n % 100}東京${n % 7}`],
    ['equal forms', () => 'one and the same name'],
    ['empty forms', (n: number) => (n % 3 === 0 ? '' : 'a')],
  ])('sorts many positions: %s', (_, form) => {
    const forms = bytesOf(Array.from({ length: 1500 }, (_each, n) => form(n)));
    expect([...sorted(forms)]).toEqual(naiveSort(forms, startsIn(forms)));
  });

  it.each([
    ['equal forms', () => 'quick brown fox '.repeat(20)],
    ['one letter', (n: number) => 'a'.repeat(300 + (n % 3))],
    ['a period of two letters', (n: number) => 'ab'.repeat(150 + (n % 5))],
    ['a period of three bytes', () => '漢'.repeat(100)],
    ['long beginnings that differ at the end', (n: number) => `${'x'.repeat(200)}${n}`],
  ])('sorts the groups that are left after %i bytes: %s'.replace('%i', String(FIXED_DEPTH)), (_, form) => {
    const forms = bytesOf(Array.from({ length: 40 }, (_each, n) => form(n)));
    const { positions, groupCount } = sortedByDoubling(forms);
    expect(groupCount).toBeGreaterThan(0);
    expect([...positions]).toEqual(naiveSort(forms, startsIn(forms)));
  });

  it.each([
    ['equal forms of 500 bytes', () => 'quick brown fox '.repeat(31)],
    ['one letter', () => 'a'.repeat(512)],
    ['a period of two letters', (n: number) => 'ab'.repeat(256 - (n % 50))],
    ['a long common beginning', (n: number) => `${'mnopq rst'.repeat(55)}${n}`],
    ['a long common ending', (n: number) => `${n}${'mnopq rst'.repeat(55)}`],
    ['pairs of equal forms', (n: number) => `${String(n >> 1).repeat(100)}`],
    ['one character of Han', () => '漢'.repeat(170)],
  ])('takes a bounded number of steps: %s', (_, form) => {
    const forms = bytesOf(Array.from({ length: 200 }, (_each, n) => form(n)));
    const meter = new WorkMeter();
    const { length } = sorted(forms, meter);
    expect(meter.steps / (length * Math.log2(length))).toBeLessThan(35);
  });

  test('sorts only the given beginnings of forms', () => {
    const texts = Array.from(
      { length: 9000 },
      (_, n) => `${n % 50} name ${'long '.repeat(n % 20)}${(n * 31) % 700}`,
    );
    const forms = bytesOf(texts);
    const beginnings: number[] = [];
    let at = 0;
    texts.forEach((text, n) => {
      if (n % 4 !== 0) beginnings.push(at);
      at += text.length + 1;
    });
    const found = sortForms(forms, Uint32Array.from(beginnings), new WorkMeter());
    expect([...found]).toEqual(naiveSort(forms, beginnings));
  });
});

describe('the sort of keys', () => {
  /** A number below `range` without pattern, for each index. */
  const scattered = (index: number, range: number): number =>
    ((index * 2_654_435_761) % 4_294_967_291) % range;

  /** `toEqual` would take half a second for 100,000 numbers. */
  const isEqual = (one: Uint32Array, other: Uint32Array): boolean =>
    one.length === other.length && one.every((value, index) => value === other[index]);

  describe.each([0, 1, 2, 12, 13, 159, 160, 1000, 65_536, 65_537, 100_000])('%i keys', (length) => {
    it.each([
      ['in any order', (index: number) => scattered(index, 2 ** 32)],
      ['of few values', (index: number) => scattered(index, 5) * 2 ** 24],
      ['in rising order', (index: number) => index],
      ['in falling order', (index: number) => length - index],
      ['that rise and fall', (index: number) => Math.min(index, length - index)],
      ['that are equal', () => 2 ** 32 - 1],
    ])('are sorted with their values, %s', (_, keyOf) => {
      const margin = 3;
      const keys = Uint32Array.from({ length: length + 2 * margin }, (_each, index) => keyOf(index));
      const values = Uint32Array.from(keys.keys());
      const before = keys.slice();
      new KeySorter(keys, values, new WorkMeter()).sort(margin, margin + length);
      expect(
        isEqual(keys.subarray(margin, margin + length), before.slice(margin, margin + length).sort()),
      ).toBe(true);
      // Each value is still beside its key, and every value is there once.
      expect(keys.every((key, index) => key === before[values[index]!])).toBe(true);
      expect(isEqual(values.slice().sort(), Uint32Array.from(keys.keys()))).toBe(true);
      expect(values.subarray(0, margin)).toEqual(Uint32Array.of(0, 1, 2));
    });
  });

  test('sorts random, sorted and alternating keys in fewer than 40 steps for each key', () => {
    const length = 50_000;
    const stepsFor = (keyOf: (index: number) => number): number => {
      const meter = new WorkMeter();
      const keys = Uint32Array.from({ length }, (_, index) => keyOf(index));
      new KeySorter(keys, new Uint32Array(length), meter).sort(0, length);
      return meter.steps / length;
    };
    expect(stepsFor((index) => scattered(index, 2 ** 32))).toBeLessThan(40);
    expect(stepsFor((index) => index)).toBeLessThan(40);
    expect(stepsFor((index) => (index % 2 === 0 ? index : length - index))).toBeLessThan(40);
  });
});
