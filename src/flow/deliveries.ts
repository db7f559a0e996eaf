import type { Clock, Timer } from '../base/clock';

/** An object with something to send to one client. */
export interface Delivery {
  deliver(): void;
  /** `deliver` has thrown this defect. */
  fail(defect: unknown): void;
}

/** Deliveries run for this long in one turn of the event loop (ms). Then calls and replies of the store come first. */
const SLICE_MS = 1;

/**
 * Sends to many clients, some in each turn of the event loop. A client that is added again before its turn keeps its
 * turn, so that a client behind many others is never starved.
 */
export class Deliveries {
  private readonly pending = new Set<Delivery>();
  private timer: Timer | undefined;

  constructor(private readonly clock: Clock) {}

  add(delivery: Delivery): void {
    this.pending.add(delivery);
    this.timer ??= this.clock.after(0, () => this.run());
  }

  delete(delivery: Delivery): void {
    this.pending.delete(delivery);
    if (this.pending.size > 0) return;
    this.timer?.cancel();
    this.timer = undefined;
  }

  private run(): void {
    const startedAt = this.clock.now();
    this.timer = undefined;
    for (const delivery of this.pending) {
      this.pending.delete(delivery);
      // An error that leaves this function would end the process.
      try {
        delivery.deliver();
      } catch (defect) {
        delivery.fail(defect);
      }
      if (this.clock.now() - startedAt >= SLICE_MS) break;
    }
    // `deliver` may have added a delivery.
    if (this.pending.size > 0) this.timer ??= this.clock.after(0, () => this.run());
  }
}
