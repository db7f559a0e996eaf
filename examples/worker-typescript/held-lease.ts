import type { Duration } from '../../generated/typescript/google/protobuf/duration';
import type { Lease } from '../../generated/typescript/holdfast/v1/lease';
import { deadline } from '../../clients/typescript';
import { spanText } from './words';

/** The longest delay of setTimeout. The timer of a longer lease is set again after this time. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The lease has ended, so the work under it must stop. */
export class LeaseOver extends Error {
  override readonly name = 'LeaseOver';

  constructor(
    message: string,
    /** The deadline on `performance.now()`. Set only if the lease ended because this deadline passed. */
    readonly deadlineAt?: number,
  ) {
    super(message);
  }

  /** A sentence for the output, with the time since the deadline. */
  describe(): string {
    if (this.deadlineAt === undefined) return this.message;
    return `deadline passed ${spanText(performance.now() - this.deadlineAt)} ago`;
  }
}

/**
 * A held lease and its deadline on the worker's own monotonic clock.
 *
 * The clock runs on while the process is paused, swapped out or busy. No message can reach the process during this
 * time, so only the clock shows the process afterwards that the lease has ended.
 */
export class HeldLease {
  readonly id: string;
  readonly token: bigint;
  private readonly ended = new AbortController();
  private readonly ttl: Duration | undefined;
  private until = -Infinity;
  private timer: NodeJS.Timeout | undefined;

  /** @param t0 `performance.now()` just before the call that granted the lease was sent */
  constructor(t0: number, lease: Lease) {
    this.id = lease.leaseId;
    this.token = lease.fencingToken;
    this.ttl = lease.ttl;
    this.until = deadline(t0, lease.expireOffset, lease.ttl);
    this.watch();
  }

  /** Aborts when the lease ends, with a LeaseOver as its reason. */
  get over(): AbortSignal {
    return this.ended.signal;
  }

  get leftMs(): number {
    return this.until - performance.now();
  }

  /** Checks the clock too, because the timer may be late. */
  get isOver(): boolean {
    if (this.leftMs <= 0) this.end(new LeaseOver('deadline passed', this.until));
    return this.over.aborted;
  }

  /** Must be called before each step, and again right before each write. Throws if the lease has ended. */
  check(): void {
    if (this.isOver) this.over.throwIfAborted();
  }

  /** Extends the deadline after a renewal. A renewal never shortens the lease, so the latest deadline is valid. */
  renewed(t0: number, expireOffset: Duration | undefined): void {
    // A passed deadline stays passed. A worker that was paused may later find old renewals in its socket, but another
    // worker may have held the lock in the meantime.
    if (this.isOver) return;
    this.until = Math.max(this.until, deadline(t0, expireOffset, this.ttl));
    this.watch();
  }

  /** Ends the lease. Only the first reason is kept. A passed deadline is an earlier reason than `reason`. */
  end(reason: LeaseOver): void {
    if (this.over.aborted) return;
    clearTimeout(this.timer);
    const passed = reason.deadlineAt === undefined && this.leftMs <= 0;
    this.ended.abort(passed ? new LeaseOver('deadline passed', this.until) : reason);
  }

  /** Sets a timer for the deadline, so that a long step stops at the deadline and not after it. */
  private watch(): void {
    clearTimeout(this.timer);
    const wait = Math.min(Math.ceil(this.leftMs), LONGEST_TIMER_MS);
    this.timer = setTimeout(() => {
      if (!this.isOver) this.watch();
    }, wait);
    this.timer.unref();
  }
}
