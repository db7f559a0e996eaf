import { FairQueue } from './fair-queue';
import type { Slots } from './slots';

/** As Slots, but runs at most `atOnce` tasks at a time, and serves the connections in turn. */
export class FairSlots {
  private readonly waiting = new FairQueue<() => void>();
  private runningCount = 0;

  constructor(
    private readonly slots: Slots,
    private readonly atOnce: number,
  ) {}

  /** Rejects with OVERLOADED, and does not begin, above a bound. */
  use<T>(connection: object, work: () => Promise<T>): Promise<T> {
    return this.slots.use(connection, () => this.inTurn(connection, work));
  }

  private async inTurn<T>(connection: object, work: () => Promise<T>): Promise<T> {
    if (this.runningCount < this.atOnce) this.runningCount += 1;
    // The task that ends calls `begin`, so this task takes its place.
    else await new Promise<void>((begin) => this.waiting.push(connection, begin));
    try {
      return await work();
    } finally {
      const begin = this.waiting.shift();
      if (begin === undefined) this.runningCount -= 1;
      else begin();
    }
  }
}
