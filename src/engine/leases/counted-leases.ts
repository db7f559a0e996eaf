import type { Account } from '../account';
import type { Clock } from '../clock';
import { latestEnd } from './expire-offset';
import type { TimedWork, TimerEntry, TimerQueue } from './timer-queue';

class CountedLease implements TimedWork {
  timer: TimerEntry | undefined;

  constructor(
    private readonly leases: { check(lease: CountedLease): void },
    readonly key: string,
    readonly account: Account,
    /** No client believes in the lease after this time (ms). */
    public endAt: number,
  ) {}

  run(): void {
    this.leases.check(this);
  }
}

/**
 * The leases that this server has granted or renewed, for the quotas of their callers. A lease counts until this server
 * learns of its end, or until the last end that this server knows. A release or a renewal by another server is unknown here.
 */
export class CountedLeases {
  private readonly leases = new Map<string, CountedLease>();

  constructor(
    private readonly clock: Clock,
    private readonly timers: TimerQueue,
  ) {}

  /**
   * Counts a request that may get a lease. Throws QUOTA_EXCEEDED, unless the request has a counted lease already. True: the
   * caller must call `answered` once, when the request is answered.
   */
  request(account: Account, key: string): boolean {
    if (this.leases.has(key)) return false;
    account.requestLease();
    return true;
  }

  /** A counted request is answered, and no longer counts. If the request got a lease, the lease counts. */
  answered(account: Account): void {
    account.leaseCount -= 1;
  }

  /** The store has just answered that this time of the lease is left (ms). */
  lives(account: Account, key: string, remainingMs: number): void {
    const endAt = latestEnd(this.clock.now(), remainingMs);
    const known = this.leases.get(key);
    if (known !== undefined) {
      known.endAt = Math.max(known.endAt, endAt);
      return;
    }
    account.leaseCount += 1;
    const lease = new CountedLease(this, key, account, endAt);
    lease.timer = this.timers.at(endAt, lease);
    this.leases.set(key, lease);
  }

  ended(key: string): void {
    const known = this.leases.get(key);
    if (known === undefined) return;
    known.timer?.cancel();
    known.account.leaseCount -= 1;
    this.leases.delete(key);
  }

  close(): void {
    for (const key of [...this.leases.keys()]) this.ended(key);
  }

  /** The timer of the lease. A renewal only moves `endAt`, so the timer may run before the end. */
  check(lease: CountedLease): void {
    if (lease.endAt <= this.clock.now()) this.ended(lease.key);
    else lease.timer = this.timers.at(lease.endAt, lease);
  }
}
