import type { Outcome } from './trade';

/** The counts and times of a strategy. */
export interface Tally {
  readonly outcomes: Record<Outcome, number>;
  /** Items that sellers have listed. */
  listed: number;
  retries: number;
  /** The number of pauses of buyers that were longer than the ttl, right before a write. */
  pauses: number;
  /** Times of the purchases in ms, from the first choice to the purchase, with failed attempts. */
  readonly times: number[];
  /** Times to acquire a lock in ms, with the wait. */
  readonly lockTimes: number[];
  /** The time in which the market was open (ms). Less than planned if every item was sold. */
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
