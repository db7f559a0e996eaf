import type { Outcome } from './trade';

/** What buyers have seen. */
export interface Tally {
  readonly outcomes: Record<Outcome, number>;
  /** By sellers. */
  listed: number;
  retries: number;
  /** How often a buyer stopped for longer than its ttl, right before the write. */
  pauses: number;
  /** For each purchase that was over in time: from choosing the first item to having one, failures included (ms). */
  readonly times: number[];
  /** How long each lock took to be had (ms), the wait included. */
  readonly lockTimes: number[];
  /** How long the market was open (ms): less than planned where everything was sold. */
  openMs: number;
}

export function emptyTally(): Tally {
  return {
    outcomes: { done: 0, gone: 0, poor: 0, contended: 0, late: 0, refused: 0 },
    listed: 0,
    retries: 0,
    pauses: 0,
    times: [],
    lockTimes: [],
    openMs: 0,
  };
}

export function sumOf(tallies: readonly Tally[]): Tally {
  const total = emptyTally();
  for (const tally of tallies) {
    for (const outcome of Object.keys(total.outcomes) as Outcome[]) {
      total.outcomes[outcome] += tally.outcomes[outcome];
    }
    total.listed += tally.listed;
    total.retries += tally.retries;
    total.pauses += tally.pauses;
    for (const time of tally.times) total.times.push(time);
    for (const time of tally.lockTimes) total.lockTimes.push(time);
    total.openMs = Math.max(total.openMs, tally.openMs);
  }
  return total;
}
