import type { Clock } from '../../base/clock';

/** The shortest pause between two reads. */
export const MIN_PAUSE_MS = 100;
/**
 * A pause is this many times as long as the read before, because reads of many dictionaries must not take all time of
 * the store.
 */
const PAUSE_FACTOR = 4;

/** Lets the reads of one account run one after another, with pauses. */
export class ReadTurns {
  private last: Promise<unknown> = Promise.resolve();
  private pauseEnd = -Infinity;
  /** The pause after the last read (ms). */
  pauseMs = MIN_PAUSE_MS;

  constructor(private readonly clock: Clock) {}

  run<T>(read: () => Promise<T>): Promise<T> {
    const turn = this.last.then(() => this.runAfterPause(read));
    this.last = turn.catch(() => undefined);
    return turn;
  }

  private async runAfterPause<T>(read: () => Promise<T>): Promise<T> {
    const waitMs = this.pauseEnd - this.clock.now();
    if (waitMs > 0) await new Promise<void>((resolve) => this.clock.after(waitMs, resolve));
    const startedAt = this.clock.now();
    try {
      return await read();
    } finally {
      const now = this.clock.now();
      this.pauseMs = Math.max(MIN_PAUSE_MS, PAUSE_FACTOR * (now - startedAt));
      this.pauseEnd = now + this.pauseMs;
    }
  }
}
