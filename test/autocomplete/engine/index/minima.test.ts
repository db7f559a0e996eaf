import fc from 'fast-check';
import { fillMinima, minimaLengths, rangeMinimum } from '../../../../src/autocomplete/index/build/minima';
import { WorkMeter } from '../../../../src/autocomplete/index/work';

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

it.each([1023, 1024, 1025, 40_000])('finds the minimum of any interval of a list of %i numbers', (length) => {
  const list = shuffled(length);
  const levels = levelsOver(list);
  const bounds = fc.tuple(fc.nat(length - 1), fc.nat(length - 1));
  fc.assert(
    fc.property(bounds, ([a, b]) => {
      const [from, to] = [Math.min(a, b), Math.max(a, b) + 1];
      expect(rangeMinimum(levels, from, to)).toBe(naiveMinimum(list, from, to));
    }),
    { numRuns: 300 },
  );
});

test('has no level for an empty list, and no more than 32 elements in the last level', () => {
  expect(minimaLengths(0)).toEqual([]);
  expect(minimaLengths(32)).toEqual([]);
  expect(minimaLengths(33)).toEqual([2]);
  expect(minimaLengths(32 * 32 + 1)).toEqual([33, 2]);
});
