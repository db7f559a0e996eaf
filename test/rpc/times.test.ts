import fc from 'fast-check';
import { durationToMs, msToDuration, msToTimestamp, timestampToUs } from '../../src/rpc/wire';

describe('durationToMs', () => {
  test.each([
    [0n, 0, 0],
    [30n, 0, 30_000],
    [0n, 100_000_000, 100],
    [0n, 1, 1e-6],
    [-1n, -500_000_000, -1500],
    [315_576_000_000n, 0, 315_576_000_000_000],
  ])('converts %s s and %s ns to %s ms', (seconds, nanos, ms) => {
    expect(durationToMs({ seconds, nanos })).toBe(ms);
  });

  test.each([
    ['positive seconds and negative nanos', 1n, -1],
    ['negative seconds and positive nanos', -1n, 1],
    ['10^9 nanos', 0n, 1_000_000_000],
    ['-10^9 nanos', 0n, -1_000_000_000],
    ['more than 10,000 years', 315_576_000_001n, 0],
    ['less than -10,000 years', -315_576_000_001n, 0],
    ['the largest int64', 2n ** 63n - 1n, 0],
    ['the smallest int64', -(2n ** 63n), 0],
  ])('returns undefined for %s', (_title, seconds, nanos) => {
    expect(durationToMs({ seconds, nanos })).toBeUndefined();
  });
});

describe('msToDuration', () => {
  test.each([
    [0, 0n, 0],
    [29_986.75, 29n, 986_000_000],
    [999.999_999, 0n, 999_000_000],
    [120_000, 120n, 0],
    [-0.5, 0n, -1_000_000],
    [-1500, -1n, -500_000_000],
  ])('converts %s ms to %s s and %s ns', (ms, seconds, nanos) => {
    expect(msToDuration(ms)).toEqual({ seconds, nanos });
  });

  test('never rounds up, and rounds down by at most 1 ms', () => {
    fc.assert(
      fc.property(fc.double({ min: -1e12, max: 1e12, noNaN: true }), (ms) => {
        const read = durationToMs(msToDuration(ms));
        expect(read).toBeLessThanOrEqual(ms);
        expect(read).toBeGreaterThanOrEqual(ms - 1);
      }),
    );
  });
});

describe('msToTimestamp', () => {
  test.each([
    [1_700_000_000_123.9, 1_700_000_000n, 123_900_000],
    [1_795_172_435_542.417, 1_795_172_435n, 542_417_000],
    [-1, -1n, 999_000_000],
  ])('converts %s ms to %s s and %s ns, which are not negative', (ms, seconds, nanos) => {
    expect(msToTimestamp(ms)).toEqual({ seconds, nanos });
  });

  test('keeps each microsecond of a time before the year 2109', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 42 * 1000 - 1 }), (us) => {
        expect(timestampToUs(msToTimestamp(us / 1000))).toBe(BigInt(us));
      }),
    );
  });
});

describe('timestampToUs', () => {
  test.each([
    [0n, 999, 0n],
    [-1n, 999_999_999, -1n],
    [253_402_300_799n, 999_999_999, 253_402_300_799_999_999n],
    [-62_135_596_800n, 0, -62_135_596_800_000_000n],
  ])('converts %s s and %s ns', (seconds, nanos, us) => {
    expect(timestampToUs({ seconds, nanos })).toBe(us);
  });

  test.each([
    ['a time after the year 9999', 253_402_300_800n, 0],
    ['a time before the year 1', -62_135_596_801n, 0],
    ['negative nanos', 0n, -1],
    ['10^9 nanos', 0n, 1_000_000_000],
  ])('returns undefined for %s', (_title, seconds, nanos) => {
    expect(timestampToUs({ seconds, nanos })).toBeUndefined();
  });
});
