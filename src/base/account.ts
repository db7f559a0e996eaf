import type { Clock } from './clock';
import {
  NOT_SHARED,
  quotaExceeded,
  type CountedQuota,
  type Quotas,
  type SharedUse,
  type SharedUses,
} from './quotas';

/**
 * The most time for which a caller can save unused commands (ms). The caller may send all saved commands together.
 */
const BURST_MS = 1000;
/** Sums of fractions may differ by less than this time (ms). */
const ROUNDING_MS = 1e-6;

/** In texts. The others are not named. */
const SHARED_QUOTA = 'the quota that they share';

const COUNTED = ['leases', 'waiters', 'streams', 'sessions'] as const;

/** The use of this server by one caller, and the bounds of this use. */
export class Account {
  private readonly counts = { leases: 0, waiters: 0, streams: 0, sessions: 0 };
  /** The shared uses that have the counts of this account. */
  private joined: SharedUses = NOT_SHARED;
  /** The open sessions of each client process. */
  private readonly sessionsOf = new Map<string, number>();
  /**
   * The commands so far have used the quota up to this time (ms, monotonic clock). Each command adds 1 / quota. The
   * time may be at most BURST_MS in the past, so a caller can save only the commands of this time.
   */
  usedUntil = -Infinity;

  constructor(
    /** The beginning of error texts: the identity, or "this connection". */
    private readonly subject: string,
    private readonly clock: Clock,
    private readonly readQuotas: () => Quotas,
    private readonly readShared: () => SharedUses = () => NOT_SHARED,
  ) {}

  /** Leases, and requests for leases that are not answered yet. */
  get leaseCount(): number {
    return this.counts.leases;
  }

  set leaseCount(count: number) {
    this.setCount('leases', count);
  }

  get waiterCount(): number {
    return this.counts.waiters;
  }

  set waiterCount(count: number) {
    this.setCount('waiters', count);
  }

  get streamCount(): number {
    return this.counts.streams;
  }

  /** The quotas that this caller shares with others. After a reload, takes the counts there. */
  get shared(): SharedUses {
    const present = this.readShared();
    if (present !== this.joined) {
      for (const quota of COUNTED) {
        const [before, after] = [this.joined[quota], present[quota]];
        if (before !== undefined) before.count -= this.counts[quota];
        if (after !== undefined) after.count += this.counts[quota];
      }
      this.joined = present;
    }
    return present;
  }

  get quotas(): Quotas {
    return this.readQuotas();
  }

  /** True: the account counts nothing that restricts the caller, so the account can be forgotten. */
  get isUnused(): boolean {
    const isCounted = this.leaseCount + this.waiterCount + this.streamCount > 0;
    return !isCounted && this.usedUntil <= this.clock.now() - BURST_MS;
  }

  /** Counts one command. Throws QUOTA_EXCEEDED. */
  takeCommand(): void {
    const { commands_per_second: limit } = this.quotas;
    if (limit === undefined) return;
    const now = this.clock.now();
    const use: { usedUntil: number } = this.shared.commands_per_second ?? this;
    const usedUntil = Math.max(use.usedUntil, now - BURST_MS) + 1000 / limit;
    if (usedUntil > now + ROUNDING_MS) {
      throw quotaExceeded(
        'commands_per_second',
        limit,
        `${this.subject} ${use === this ? 'sends more than its quota' : `and others send more than ${SHARED_QUOTA}`} of ${limit} commands per second: nothing was done; send fewer commands, or ask the operator for a higher quota`,
        Math.ceil(usedUntil - now),
      );
    }
    use.usedUntil = usedUntil;
  }

  /** Counts one more stream. Throws QUOTA_EXCEEDED, unless the stream attaches to a lease. */
  openStream(attaches: boolean): void {
    if (!attaches) this.check('streams', 'open streams', 'end a stream');
    this.setCount('streams', this.counts.streams + 1);
  }

  closeStream(): void {
    this.setCount('streams', this.counts.streams - 1);
  }

  /**
   * Counts one more session, and its stream. Throws QUOTA_EXCEEDED, unless the session is the second of its client process:
   * the process may need the next session to keep the leases of its present session.
   */
  openSession(clientId: string): void {
    const count = this.sessionsOf.get(clientId) ?? 0;
    if (count !== 1) {
      this.takeCommand();
      this.check('sessions', 'open sessions', 'end a session');
      this.openStream(false);
      this.setCount('sessions', this.counts.sessions + 1);
    } else this.openStream(true);
    this.sessionsOf.set(clientId, count + 1);
  }

  /** Ends the count of a session that was opened before. */
  closeSession(clientId: string): void {
    const count = this.sessionsOf.get(clientId) ?? 0;
    if (count > 1) this.sessionsOf.set(clientId, count - 1);
    else this.sessionsOf.delete(clientId);
    if (count !== 2) this.setCount('sessions', this.counts.sessions - 1);
    this.closeStream();
  }

  /** Counts one more request for a lease. Throws QUOTA_EXCEEDED. */
  requestLease(): void {
    this.check('leases', 'leases and requests for leases', 'release a lease');
    this.leaseCount += 1;
  }

  /** Whether one more request may wait. */
  get mayWait(): boolean {
    return this.used('waiters') < (this.quotas.waiters ?? Infinity);
  }

  /** The error of a request that finds no free permits, and may not wait. `name` has the kind of the resource. */
  tooManyWaiters(name: string): Error {
    const limit = this.quotas.waiters ?? 0;
    return quotaExceeded(
      'waiters',
      limit,
      `${name} is not free, and ${this.reached('waiters')} of ${limit} waiting requests on this server; try again later, or ask the operator for a higher quota`,
    );
  }

  private check(quota: (typeof COUNTED)[number], things: string, advice: string): void {
    const limit = this.quotas[quota];
    if (limit === undefined || this.used(quota) < limit) return;
    throw quotaExceeded(
      quota,
      limit,
      `${this.reached(quota)} of ${limit} ${things} on this server: nothing was done; ${advice}, or ask the operator for a higher quota`,
    );
  }

  /** The use that is compared with the quota: by this caller, or by all who share the quota. */
  private used(quota: (typeof COUNTED)[number]): number {
    return this.shared[quota]?.count ?? this.counts[quota];
  }

  private reached(quota: CountedQuota): string {
    const isShared = this.shared[quota] !== undefined;
    return `${this.subject} ${isShared ? `and others have reached ${SHARED_QUOTA}` : 'has reached its quota'}`;
  }

  private setCount(quota: (typeof COUNTED)[number], count: number): void {
    const shared: SharedUse | undefined = this.shared[quota];
    if (shared !== undefined) shared.count += count - this.counts[quota];
    this.counts[quota] = count;
  }
}
