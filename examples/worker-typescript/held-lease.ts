import type { Duration } from '../../generated/typescript/google/protobuf/duration';
import type { Lease } from '../../generated/typescript/holdfast/v1/lease';
import { deadline } from '../../clients/typescript';
import { spanText } from './words';

/** setTimeout takes no more; a lease whose end is further away is looked at again by then. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The lease is no longer ours to work under. */
export class LeaseOver extends Error {
  override readonly name = 'LeaseOver';

  constructor(
    message: string,
    /** Set where our own clock said so: when the deadline was, on `performance.now()`. */
    readonly deadlineAt?: number,
  ) {
    super(message);
  }

  /** What happened, as seen from now. */
  describe(): string {
    if (this.deadlineAt === undefined) return this.message;
    return `deadline passed ${spanText(performance.now() - this.deadlineAt)} ago`;
  }
}

/**
 * What a worker knows about its lease: until when it may believe in it, by its own monotonic clock alone.
 *
 * The clock runs on while the process is stopped, swapped out or busy with itself, which is when nobody else
 * could tell it that its time is up.
 */
export class HeldLease {
  readonly id: string;
  readonly token: bigint;
  private readonly ended = new AbortController();
  private readonly ttl: Duration | undefined;
  private until = -Infinity;
  private timer: NodeJS.Timeout | undefined;

  /** @param t0 `performance.now()` just before the call was sent that the lease is the answer to */
  constructor(t0: number, lease: Lease) {
    this.id = lease.leaseId;
    this.token = lease.fencingToken;
    this.ttl = lease.ttl;
    this.until = deadline(t0, lease.expireOffset, lease.ttl);
    this.watch();
  }

  /** Aborts the moment the lease is over, with a LeaseOver as its reason. */
  get over(): AbortSignal {
    return this.ended.signal;
  }

  get leftMs(): number {
    return this.until - performance.now();
  }

  /** By the clock, and not only as far as somebody has noticed. */
  get isOver(): boolean {
    if (this.leftMs <= 0) this.end(new LeaseOver('deadline passed', this.until));
    return this.over.aborted;
  }

  /** To be called before each step, and once more right before each write. Throws when the lease is over. */
  check(): void {
    if (this.isOver) this.over.throwIfAborted();
  }

  /** Another answer about the lease. Of several the latest deadline counts: a renewal never shortens. */
  renewed(t0: number, expireOffset: Duration | undefined): void {
    // A deadline that has passed stays passed. A worker that was stopped finds the news of its renewals when it
    // goes on; others may have worked in between, and old news does not undo that.
    if (this.isOver) return;
    this.until = Math.max(this.until, deadline(t0, expireOffset, this.ttl));
    this.watch();
  }

  /** The first reason stands; a deadline that has passed by now comes before whatever is said of it later. */
  end(reason: LeaseOver): void {
    if (this.over.aborted) return;
    clearTimeout(this.timer);
    const passed = reason.deadlineAt === undefined && this.leftMs <= 0;
    this.ended.abort(passed ? new LeaseOver('deadline passed', this.until) : reason);
  }

  /** A step that takes long is to stop at the deadline, not after it. */
  private watch(): void {
    clearTimeout(this.timer);
    const wait = Math.min(Math.ceil(this.leftMs), LONGEST_TIMER_MS);
    this.timer = setTimeout(() => {
      if (!this.isOver) this.watch();
    }, wait);
    this.timer.unref();
  }
}
