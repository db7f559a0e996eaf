import { uptime } from 'node:os';

/** A difference below this time is the resolution of the clocks, and no suspend. */
const RESOLUTION_MS = 100;

/**
 * A monotonic clock in milliseconds that also counts the time while the machine was suspended. `performance.now()` does
 * not count that time on Linux, so a lease would seem valid after a suspend. The uptime of Linux counts it. On other
 * systems the clock is `performance.now()`. Steps of the wall clock change nothing.
 */
export class SuspendAwareClock {
  private suspendedMs = 0;
  private comparedAt: number;
  private readonly offsetMs: number;

  constructor(
    private readonly monotonic: () => number,
    /** A clock that counts a suspend. Undefined: the platform has none. */
    private readonly sinceBoot: (() => number) | undefined,
  ) {
    this.comparedAt = monotonic();
    this.offsetMs = (sinceBoot?.() ?? 0) - this.comparedAt;
  }

  /** May miss a suspend within the last 10 ms, because a read of the uptime takes ten microseconds. */
  now(): number {
    const now = this.monotonic();
    if (now - this.comparedAt >= 10) this.compare(now);
    return now + this.suspendedMs;
  }

  /** Counts every suspend. For the answers to a caller that wants to rely on a lease. */
  exactNow(): number {
    const now = this.monotonic();
    this.compare(now);
    return now + this.suspendedMs;
  }

  private compare(now: number): void {
    if (this.sinceBoot === undefined) return;
    this.comparedAt = now;
    const suspendedMs = this.sinceBoot() - now - this.offsetMs;
    if (suspendedMs > this.suspendedMs + RESOLUTION_MS) this.suspendedMs = suspendedMs;
  }
}

const sinceBoot = process.platform === 'linux' ? () => uptime() * 1000 : undefined;
const clock = new SuspendAwareClock(() => performance.now(), sinceBoot);

/** The time of the client's monotonic clock (ms). All deadlines of leases are times of this clock. */
export function now(): number {
  return clock.now();
}

/** The same clock, compared with the uptime in this moment: it counts a suspend that ended just now. */
export function exactNow(): number {
  return clock.exactNow();
}
