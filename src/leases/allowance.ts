import type { Account } from '../base/accounts';
import { answerWithinMs, type Call } from '../base/call';
import type { CallerUse } from '../base/callers';
import type { Clock } from '../base/clock';
import type { TimedWork, TimerEntry, TimerQueue } from '../flow/timer-queue';
import { latestEnd, type Resource } from './lease';
import { resourceText, tooManyWaiting } from './lease-errors';
import type { AcquireRequest } from './lease-requests';
import type { Life } from './life';

/**
 * Limits the waiting unary calls of each connection. gRPC ends a connection that cancels too many calls at the same
 * time, with every hold stream on the connection (docs/design/leases.md, rule 13).
 */
export class WaitingCalls {
  private readonly counts = new WeakMap<object, number>();

  constructor(readonly maxCount: number) {}

  /** Counts the call, unless its connection has reached the limit. Returns whether the call was counted. */
  tryAdd(connection: object): boolean {
    const count = this.count(connection);
    if (count >= this.maxCount) return false;
    this.counts.set(connection, count + 1);
    return true;
  }

  remove(connection: object): void {
    this.counts.set(connection, this.count(connection) - 1);
  }

  private count(connection: object): number {
    return this.counts.get(connection) ?? 0;
  }
}

/**
 * Whether one call may wait. A call may only try once if too many calls of its caller wait already, and a unary call also
 * if too many calls of its connection wait.
 */
export class WaitAllowance {
  readonly mayWait: boolean;
  private readonly hasAccountPlace: boolean;
  private readonly hasConnectionPlace: boolean;
  private readonly isCountedForConnection: boolean;

  /**
   * `hasTime`: the request and the deadline allow a wait. The call counts before the store answers, because a burst of
   * calls would pass the limit otherwise.
   */
  constructor(
    private readonly calls: WaitingCalls,
    private readonly life: Life,
    private readonly hasTime: boolean,
  ) {
    const { account, connection } = life.call;
    this.hasAccountPlace = hasTime && (account?.mayWait ?? true);
    this.isCountedForConnection = this.hasAccountPlace && !life.holds && calls.tryAdd(connection);
    this.hasConnectionPlace = life.holds || this.isCountedForConnection;
    this.mayWait = this.hasAccountPlace && this.hasConnectionPlace;
    if (this.mayWait && account !== undefined) account.waiterCount += 1;
  }

  /** The error if only a limit forbids the wait. */
  limitError(resource: Resource): Error | undefined {
    if (!this.hasTime || this.mayWait) return undefined;
    const { account } = this.life.call;
    return account !== undefined && !this.hasAccountPlace
      ? account.tooManyWaiters(resourceText(resource))
      : tooManyWaiting(resource, this.calls.maxCount);
  }

  /** Call this once, when the call ends. */
  close(): void {
    const { account, connection } = this.life.call;
    if (this.isCountedForConnection) this.calls.remove(connection);
    if (this.mayWait && account !== undefined) account.waiterCount -= 1;
  }
}

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

export interface WaitEnd {
  readonly at: number;
  /** True: the age limit ends the wait earlier than the request and the call's deadline. */
  readonly byAge: boolean;
}

/** The end of a wait: the earliest of the request's wait_timeout, the call's deadline and the age limit. */
export function waitEnd(life: Life, request: AcquireRequest): WaitEnd {
  const { call } = life;
  const ageLimitAt = life.ageLimitAt(request.ttlMs);
  const byRequest = call.receivedAt + (request.waitTimeoutMs ?? Infinity);
  const byDeadline = call.receivedAt + answerWithinMs(call.timeoutMs);
  const at = Math.min(ageLimitAt, byRequest, byDeadline);
  return { at, byAge: at === ageLimitAt && at < Infinity };
}

/** When the client gives up the call (ms, monotonic clock). Undefined: never. */
export function callDeadline({ receivedAt, timeoutMs }: Call): number | undefined {
  return timeoutMs === undefined ? undefined : receivedAt + timeoutMs;
}
