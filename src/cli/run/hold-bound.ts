import { sharedNow } from './shared-clock';

/** The longest sleep: a timer of Node fires at once above 2^31-1 ms, and does not count the time of a suspended machine. */
const LONGEST_SLEEP_MS = 60_000;

/** The bound of --max-hold. */
export class HoldBound {
  hasPassed = false;
  private timer: NodeJS.Timeout | undefined;

  /** @param maxHoldMs undefined: no bound. */
  constructor(
    maxHoldMs: number | undefined,
    private readonly onPassed: () => void,
    private readonly now: () => number = sharedNow,
  ) {
    if (maxHoldMs !== undefined) this.check(now() + maxHoldMs);
  }

  clear(): void {
    clearTimeout(this.timer);
  }

  private check(end: number): void {
    const left = end - this.now();
    if (left > 0) {
      this.timer = setTimeout(() => this.check(end), Math.min(left, LONGEST_SLEEP_MS));
      return;
    }
    this.hasPassed = true;
    this.onPassed();
  }
}
