import { Distribution } from '../engine/distribution';

const INTERVAL_MS = 100;
/** From a quiet event loop to a stall that costs leases (ms). */
const BOUNDS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000];

/** Measures how late timers run: ten times a second, so the cost is not measurable. */
export class EventLoopMeter {
  readonly delayMs = new Distribution(BOUNDS);
  private timer: NodeJS.Timeout | undefined;

  start(): void {
    this.timer ??= this.wait(performance.now());
  }

  close(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private wait(since: number): NodeJS.Timeout {
    return setTimeout(() => {
      const now = performance.now();
      this.delayMs.add(Math.max(now - since - INTERVAL_MS, 0));
      this.timer = this.wait(now);
    }, INTERVAL_MS).unref();
  }
}
