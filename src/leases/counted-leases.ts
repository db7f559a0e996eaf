import type { Account } from '../base/account';
import type { Call } from '../base/call';
import type { CallerUse } from '../base/callers';
import type { Clock } from '../base/clock';
import { latestEnd } from './expire-offset';
import type { TimedWork, TimerEntry, TimerQueue } from '../flow/timer-queue';

/** The bound of leases that count for no quota, because each takes memory. */
const MAX_WITHOUT_QUOTA = 100_000;
/**
 * The end of a lease that counts for no quota is noticed in whole seconds, and looked at once in this time (ms). So all
 * such leases have few different times, which the queue of timers compares.
 */
const LOOK_MS = 60_000;
const WHOLE_MS = 1000;

class CountedLease implements TimedWork {
  timer: TimerEntry | undefined;

  constructor(
    private readonly leases: { check(lease: CountedLease): void },
    readonly key: string,
    readonly account: Account | undefined,
    public caller: CallerUse | undefined,
    /** No client believes in the lease after this time (ms). */
    public endAt: number,
  ) {}

  run(): void {
    this.leases.check(this);
  }
}

/**
 * The leases that this server has granted or renewed, for the quotas of their callers and for the list of callers. A lease
 * counts until this server learns of its end, or until the last end that this server knows. A release or a renewal by
 * another server is unknown here.
 */
export class CountedLeases {
  private readonly leases = new Map<string, CountedLease>();

  constructor(
    private readonly clock: Clock,
    private readonly timers: TimerQueue,
    private readonly maxWithoutQuota = MAX_WITHOUT_QUOTA,
  ) {}

  /** Each lease has one timer. */
  get size(): number {
    return this.leases.size;
  }

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
  lives({ account, caller }: Pick<Call, 'account' | 'caller'>, key: string, remainingMs: number): void {
    const known = this.leases.get(key);
    if (known === undefined && account === undefined) {
      if (caller === undefined || this.leases.size >= this.maxWithoutQuota) return;
    }
    const endAt = latestEnd(this.clock.now(), remainingMs);
    if (known !== undefined) {
      known.endAt = Math.max(known.endAt, endAt);
      if (known.caller !== caller) this.move(known, caller);
      return;
    }
    if (account !== undefined) account.leaseCount += 1;
    if (caller !== undefined) caller.leaseCount += 1;
    const lease = new CountedLease(this, key, account, caller, endAt);
    lease.timer = this.timers.at(this.nextLookAt(lease), lease);
    this.leases.set(key, lease);
  }

  ended(key: string): void {
    const known = this.leases.get(key);
    if (known === undefined) return;
    known.timer?.cancel();
    if (known.account !== undefined) known.account.leaseCount -= 1;
    if (known.caller !== undefined) known.caller.leaseCount -= 1;
    this.leases.delete(key);
  }

  /** The holder may renew from another address. */
  private move(lease: CountedLease, to: CallerUse | undefined): void {
    if (lease.caller !== undefined) lease.caller.leaseCount -= 1;
    if (to !== undefined) to.leaseCount += 1;
    lease.caller = to;
  }

  close(): void {
    for (const key of [...this.leases.keys()]) this.ended(key);
  }

  /** The timer of the lease. A renewal only moves `endAt`, so the timer may run before the end. */
  check(lease: CountedLease): void {
    if (lease.endAt <= this.clock.now()) this.ended(lease.key);
    else lease.timer = this.timers.at(this.nextLookAt(lease), lease);
  }

  private nextLookAt({ account, endAt }: CountedLease): number {
    if (account !== undefined) return endAt;
    return Math.ceil(Math.min(endAt, this.clock.now() + LOOK_MS) / WHOLE_MS) * WHOLE_MS;
  }
}
