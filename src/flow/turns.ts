import type { Clock, Timer } from '../base/clock';
import { FairQueue } from './fair-queue';

/** Resolves in the next turn of the event loop, when the sockets have been read. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Runs once in the next turn of the event loop, however often it is asked for in this turn. */
export class OnceATurn {
  private isDue = false;

  constructor(private readonly run: () => void) {}

  soon(): void {
    if (this.isDue) return;
    this.isDue = true;
    setImmediate(() => {
      this.isDue = false;
      this.run();
    });
  }
}

/** Does the work for each item: for `perTurn` items now, and for as many in each later turn while `goesOn` is true. */
export function inTurns<T>(
  items: Iterable<T>,
  perTurn: number,
  work: (item: T) => void,
  goesOn: () => boolean = () => true,
): void {
  const left = items[Symbol.iterator]();
  const turn = (): void => {
    if (!goesOn()) return;
    for (let count = 0; count < perTurn; count += 1) {
      const next = left.next();
      if (next.done === true) return;
      work(next.value);
    }
    setImmediate(turn);
  };
  turn();
}

/** Commands that begin in one turn of the event loop. */
const COMMANDS_PER_TURN = 32;
/** In one turn, no command begins after this time (ms). */
const LONGEST_TURN_MS = 0.5;

/**
 * Lets the commands of all sessions begin in an order that is fair to the sessions. Few commands begin in each turn
 * of the event loop, as with calls at the gate. So a message with a thousand commands, or with 1 MiB of metadata,
 * delays neither other clients nor renewals.
 */
export class CommandTurns {
  private readonly queue = new FairQueue<() => void>();
  private readonly next = new OnceATurn(() => this.turn());

  constructor(private readonly clock: Pick<Clock, 'now'>) {}

  /** Runs `begin` in a later turn, after the earlier commands of the session. */
  push(session: object, begin: () => void): void {
    this.queue.push(session, begin);
    this.next.soon();
  }

  private turn(): void {
    const endsAt = this.clock.now() + LONGEST_TURN_MS;
    for (let count = 0; count < COMMANDS_PER_TURN && this.queue.size > 0; count += 1) {
      this.queue.shift()?.();
      if (this.clock.now() >= endsAt) break;
    }
    if (this.queue.size > 0) this.next.soon();
  }
}

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

/** The longest time that a step may hold the main thread (ms). */
const LONGEST_SLICE_MS = 0.5;

/** Divides work on the main thread into slices, so that other calls run in between. */
export class Slices {
  private endsAt: number;

  constructor(private readonly clock: Clock) {
    this.endsAt = clock.now() + LONGEST_SLICE_MS;
  }

  /** True: the caller should await `pause` before the next step. */
  get isOver(): boolean {
    return this.clock.now() >= this.endsAt;
  }

  async pause(): Promise<void> {
    await nextTurn();
    this.endsAt = this.clock.now() + LONGEST_SLICE_MS;
  }
}
