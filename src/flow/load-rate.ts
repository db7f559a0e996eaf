import type { Clock } from '../base/clock';

/** How many loads may begin together after a pause. */
const BURST = 100;
/** The time between two loads after that (ms). */
const INTERVAL_MS = 5;

/** Bounds the loads of all dictionaries, because each load takes time of the store and of a thread: 200 in a second. */
export class LoadRate {
  /** When the next load may begin without a burst (ms, monotonic clock). */
  #nextAt = -Infinity;

  constructor(private readonly clock: Clock) {}

  /** False: a load must wait now. */
  get isFree(): boolean {
    return this.#nextAt <= this.clock.now();
  }

  /** Resolves when a load may begin. */
  async pass(): Promise<void> {
    const now = this.clock.now();
    const at = Math.max(this.#nextAt, now - BURST * INTERVAL_MS);
    this.#nextAt = at + INTERVAL_MS;
    if (at > now) await new Promise<void>((resolve) => this.clock.after(at - now, resolve));
  }
}
