import type { Clock } from '../base/clock';

const FIRST_MS = 1000;
const LONGEST_MS = 60_000;

/**
 * The pauses after repeated failures: 1 s, and then each twice as long, up to a minute. A minute without a failure after
 * a pause makes the next pause short again.
 */
export class GrowingPause {
  #lengthMs = 0;
  #endsAt = -Infinity;

  constructor(private readonly clock: Clock) {}

  get isOver(): boolean {
    return this.clock.now() >= this.#endsAt;
  }

  begin(): void {
    const now = this.clock.now();
    const isFirst = now - this.#endsAt > LONGEST_MS;
    this.#lengthMs = isFirst ? FIRST_MS : Math.min(LONGEST_MS, 2 * this.#lengthMs);
    this.#endsAt = now + this.#lengthMs;
  }

  /** Ends the pause. The next pause is short. */
  reset(): void {
    this.#endsAt = -Infinity;
  }
}
