import { observerClock, type Clock, type Timer } from '../../base/clock';
import { Distribution } from '../../base/distribution';

const INTERVAL_MS = 100;
/** From a quiet event loop to a stall that costs leases (ms). */
const BOUNDS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000];
/** A delay of this length is a stall (ms). One stall costs leases, but is no percentile of the delays of minutes. */
const STALL_MS = 1000;

/** Measures how late timers run: ten times a second, so the cost is not measurable. */
export class EventLoopMeter {
  readonly delayMs = new Distribution(BOUNDS);
  /** The sum of all stalls (ms). */
  stalledMs = 0;
  private timer: Timer | undefined;

  constructor(private readonly clock: Clock = observerClock) {}

  start(): void {
    this.timer ??= this.wait(this.clock.now());
  }

  close(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }

  private wait(since: number): Timer {
    return this.clock.after(INTERVAL_MS, () => {
      const now = this.clock.now();
      this.add(Math.max(now - since - INTERVAL_MS, 0));
      this.timer = this.wait(now);
    });
  }

  private add(delayMs: number): void {
    this.delayMs.add(delayMs);
    if (delayMs >= STALL_MS) this.stalledMs += delayMs;
  }
}
