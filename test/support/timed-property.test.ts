import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { assertWithinTime } from './timed-property';

const LIMITS = { runs: 1000, timeLimitMs: 500 };
const LONGER_THAN_THE_LIMIT_MS = 800;

// fast-check needs a complete run, because an interrupted first run is a failure.
describe('assertWithinTime', () => {
  it('waits for the end of the run that the time limit interrupts', async () => {
    let begun = 0;
    let ended = 0;
    const run = async (): Promise<void> => {
      begun += 1;
      if (begun > 1) await sleep(LONGER_THAN_THE_LIMIT_MS);
      ended += 1;
    };
    await assertWithinTime(fc.nat(), run, LIMITS);
    expect({ begun, ended }).toEqual({ begun: 2, ended: 2 });
  });

  it('rejects with the input and the error when the interrupted run fails', async () => {
    let begun = 0;
    const run = async (): Promise<void> => {
      begun += 1;
      if (begun === 1) return;
      await sleep(LONGER_THAN_THE_LIMIT_MS);
      throw new Error('the lease is lost');
    };
    await expect(assertWithinTime(fc.constant('a lease'), run, LIMITS)).rejects.toThrow(
      'the last run failed with the input "a lease": the lease is lost',
    );
  });

  it('rejects with the counterexample of fast-check when a run fails within the time limit', async () => {
    const run = (): Promise<void> => Promise.reject(new Error('no'));
    await expect(assertWithinTime(fc.constant(7), run, { runs: 3, timeLimitMs: 10_000 })).rejects.toThrow(
      /Counterexample: \[7\]/,
    );
  });

  it('runs the property for the given number of inputs when the time suffices', async () => {
    let count = 0;
    const run = async (): Promise<void> => void (count += 1);
    await assertWithinTime(fc.nat(), run, { runs: 5, timeLimitMs: 10_000 });
    expect(count).toBe(5);
  });
});
