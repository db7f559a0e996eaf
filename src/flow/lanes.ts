import type { Clock } from '../base/clock';
import { HoldfastError } from '../base/errors';
import { FairQueue } from './fair-queue';
import { pause } from './waiting';

/** Bounds the checks of new credentials that are in progress, for each connection and for all together. */
export class Slots {
  private count = 0;
  private readonly ofConnection = new WeakMap<object, number>();

  constructor(
    private readonly max: number,
    private readonly maxOfConnection: number,
  ) {}

  /** Rejects with OVERLOADED, and does not begin, above a bound. */
  async use<T>(connection: object, work: () => Promise<T>): Promise<T> {
    const count = this.ofConnection.get(connection) ?? 0;
    if (this.count >= this.max || count >= this.maxOfConnection) {
      throw new HoldfastError(
        'OVERLOADED',
        'this server checks too many new credentials at present: nothing was done; try again later',
      );
    }
    this.change(connection, 1);
    try {
      return await work();
    } finally {
      this.change(connection, -1);
    }
  }

  private change(connection: object, by: 1 | -1): void {
    this.count += by;
    this.ofConnection.set(connection, (this.ofConnection.get(connection) ?? 0) + by);
  }
}

/** Runs at most `atOnce` tasks at a time. The others wait, and their callers are served in turn. */
export class Lanes {
  private readonly waiting = new FairQueue<() => void>();
  private runningCount = 0;

  constructor(private readonly atOnce: number) {}

  /** True: a task that comes now must wait. */
  get isFull(): boolean {
    return this.runningCount >= this.atOnce;
  }

  /** An upper bound of the number of waiting tasks that begin before a new task of the caller. */
  ahead(caller: unknown): number {
    return this.waiting.ahead(caller);
  }

  async run<T>(caller: unknown, work: () => Promise<T>): Promise<T> {
    // The task that ends calls `begin`, so this task takes its place.
    if (this.isFull) await new Promise<void>((begin) => this.waiting.push(caller, begin));
    else this.runningCount += 1;
    try {
      return await work();
    } finally {
      const begin = this.waiting.shift();
      if (begin === undefined) this.runningCount -= 1;
      else begin();
    }
  }
}

/** How many loads may begin together after a pause. */
const BURST = 100;
/** The time between two loads after that (ms). */
const INTERVAL_MS = 5;

/** Bounds the loads of all dictionaries, because each load takes time of the store and of a thread: 200 in a second. */
export class LoadRate {
  /** When the next load may begin without a burst (ms, monotonic clock). */
  private nextAt = -Infinity;

  constructor(private readonly clock: Clock) {}

  /** False: a load must wait now. */
  get isFree(): boolean {
    return this.nextAt <= this.clock.now();
  }

  /** Resolves when a load may begin. */
  async pass(): Promise<void> {
    const now = this.clock.now();
    const at = Math.max(this.nextAt, now - BURST * INTERVAL_MS);
    this.nextAt = at + INTERVAL_MS;
    if (at > now) await pause(this.clock, at - now);
  }
}
