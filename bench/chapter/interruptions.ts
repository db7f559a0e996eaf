import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../support/monotonic';

export interface Pauses {
  /** The mean time from the end of a pause to the next pause. */
  readonly everyMs: number;
  readonly shortMs: Range;
  /** One pause in this many is long. */
  readonly longOneIn: number;
  readonly longMs: number;
}

export type Range = readonly [low: number, high: number];

export function within([low, high]: Range): number {
  return low + Math.random() * (high - low);
}

/**
 * The pauses of a worker. A pause becomes due by time and happens at the next step, so workers with many steps do not
 * pause more often.
 */
export function interruptions(pauses: Pauses | undefined): () => Promise<void> {
  if (pauses === undefined) return () => Promise.resolve();
  const nextDue = (): number => monotonicMs() - Math.log(1 - Math.random()) * pauses.everyMs;
  let due = nextDue();
  return async () => {
    if (monotonicMs() < due) return;
    await sleep(Math.random() < 1 / pauses.longOneIn ? pauses.longMs : within(pauses.shortMs));
    due = nextDue();
  };
}
