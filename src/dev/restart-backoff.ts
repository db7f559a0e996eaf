export interface BackoffDelays {
  /** The delay before the second restart. Each further delay is twice as long. */
  readonly firstMs: number;
  readonly maxMs: number;
}

const DELAYS: BackoffDelays = { firstMs: 250, maxMs: 30_000 };
/** A program that has run for this time is considered sound: the next restart has no delay. */
const SOUND_AFTER_MS = 60_000;

/**
 * The delays before the restarts of a program that ends again and again: 0, then 250 ms, doubled up to 30 s. The first
 * restart has no delay, because leases expire in the meantime. All times are in ms on one monotonic clock.
 */
export class RestartBackoff {
  private attempts = 0;
  private startedAt: number | undefined;

  constructor(private readonly delays = DELAYS) {}

  /** The number of restarts since the program was last sound. */
  get count(): number {
    return this.attempts;
  }

  started(now: number): void {
    this.startedAt = now;
  }

  /** The program has ended or could not be started. Returns the delay before the next start. */
  ended(now: number): number {
    if (this.startedAt !== undefined && now - this.startedAt >= SOUND_AFTER_MS) this.attempts = 0;
    this.startedAt = undefined;
    this.attempts += 1;
    const { firstMs, maxMs } = this.delays;
    return this.attempts === 1 ? 0 : Math.min(maxMs, firstMs * 2 ** (this.attempts - 2));
  }
}
