import { KeySorter } from '../../../../src/autocomplete/index/sort/key-sorter';
import { WorkMeter } from '../../../../src/autocomplete/index/work';

/** A number below `range` without pattern, for each index. */
const scattered = (index: number, range: number): number => ((index * 2_654_435_761) % 4_294_967_291) % range;

describe.each([0, 1, 2, 12, 13, 159, 160, 1000, 65_536, 65_537, 200_000])('%i keys', (length) => {
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
    expect(keys.subarray(margin, margin + length)).toEqual(before.slice(margin, margin + length).sort());
    // Each value is still beside its key, and every value is there once.
    expect(keys.every((key, index) => key === before[values[index]!])).toBe(true);
    expect(values.slice().sort()).toEqual(Uint32Array.from(keys.keys()));
    expect(values.subarray(0, margin)).toEqual(Uint32Array.of(0, 1, 2));
  });
});

test('sorts random, sorted and alternating keys in fewer than 40 steps for each key', () => {
  const length = 100_000;
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
