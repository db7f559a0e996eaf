import fc from 'fast-check';
import { ByteSearch, NOT_FOUND, OUT_OF_WORK } from '../../../../src/autocomplete/index/search/plain-search';
import { endOfEqualForms } from '../../../../src/autocomplete/index/search/list';
import { LowestPositions } from '../../../../src/autocomplete/index/search/intervals';
import { LowestRanks } from '../../../../src/autocomplete/index/search/suffix-search';
import { firstRankAfter, formOf, rankAt } from '../../../../src/autocomplete/index/search/places';
import { readEntry } from '../../../../src/autocomplete/index/layer/view';
import { Work } from '../../../../src/autocomplete/index/work';
import { indexOf, layerOf, someEntries } from '../../../support/autocomplete/index-view';

describe('LowestPositions', () => {
  it('returns the positions of all intervals from the lowest to the highest', () => {
    const texts = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', ' '), minLength: 1, maxLength: 8 }), {
      minLength: 1,
      maxLength: 60,
    });
    fc.assert(
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
    fc.assert(
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
  fc.assert(
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
    { numRuns: 200 },
  );
});

it('firstRankAfter finds the rank after each entry, and before entries that come later', () => {
  fc.assert(
    fc.property(someEntries(8), (entries) => {
      const table = layerOf(entries);
      for (let rank = 0; rank < table.count; rank += 1) {
        const { score, foldedText, entryId } = readEntry(table, rank);
        const form = formOf(foldedText);
        expect(firstRankAfter(table, { score, form, id: Buffer.from(entryId) })).toBe(rank + 1);
        expect(firstRankAfter(table, { score, form, id: Buffer.from(`${entryId}\u0001`) })).toBe(rank + 1);
        expect(firstRankAfter(table, { score: score + 0.5, form, id: Buffer.alloc(0) })).toBeLessThanOrEqual(
          rank,
        );
      }
    }),
    { numRuns: 200 },
  );
});
