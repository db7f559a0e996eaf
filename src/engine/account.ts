import type { Clock } from './clock';
import { quotaExceeded, type QuotaName, type Quotas } from './quotas';

/**
 * The most time for which a caller can save unused commands (ms). The caller may send all saved commands together.
 */
const BURST_MS = 1000;
/** Sums of fractions may differ by less than this time (ms). */
const ROUNDING_MS = 1e-6;

/** The use of this server by one caller, and the bounds of this use. */
export class Account {
  /** Leases, and requests for leases that are not answered yet. */
  leaseCount = 0;
  waiterCount = 0;
  streamCount = 0;
  /** The sessions that count for the quota. */
  private sessionCount = 0;
  /** The open sessions of each client process. */
  private readonly sessionsOf = new Map<string, number>();
  /**
   * The commands so far have used the quota up to this time (ms, monotonic clock). Each command adds 1 / quota. The
   * time may be at most BURST_MS in the past, so a caller can save only the commands of this time.
   */
  private usedUntil = -Infinity;

  constructor(
    /** The beginning of error texts: the identity, or "this connection". */
    private readonly subject: string,
    private readonly clock: Clock,
    private readonly readQuotas: () => Quotas,
  ) {}

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
    const usedUntil = Math.max(this.usedUntil, now - BURST_MS) + 1000 / limit;
    if (usedUntil > now + ROUNDING_MS) {
      throw quotaExceeded(
        'commands_per_second',
        limit,
        `${this.subject} sends more than its quota of ${limit} commands per second: nothing was done; send fewer commands, or ask the operator for a higher quota`,
        Math.ceil(usedUntil - now),
      );
    }
    this.usedUntil = usedUntil;
  }

  /** Counts one more stream. Throws QUOTA_EXCEEDED, unless the stream attaches to a lease. */
  openStream(attaches: boolean): void {
    if (!attaches) this.check('streams', this.streamCount, 'open streams', 'end a stream');
    this.streamCount += 1;
  }

  closeStream(): void {
    this.streamCount -= 1;
  }

  /**
   * Counts one more session, and its stream. Throws QUOTA_EXCEEDED, unless the session is the second of its client process:
   * the process may need the next session to keep the leases of its present session.
   */
  openSession(clientId: string): void {
    const count = this.sessionsOf.get(clientId) ?? 0;
    if (count !== 1) {
      this.takeCommand();
      this.check('sessions', this.sessionCount, 'open sessions', 'end a session');
      this.openStream(false);
      this.sessionCount += 1;
    } else this.openStream(true);
    this.sessionsOf.set(clientId, count + 1);
  }

  /** Ends the count of a session that was opened before. */
  closeSession(clientId: string): void {
    const count = this.sessionsOf.get(clientId) ?? 0;
    if (count > 1) this.sessionsOf.set(clientId, count - 1);
    else this.sessionsOf.delete(clientId);
    if (count !== 2) this.sessionCount -= 1;
    this.closeStream();
  }

  /** Counts one more request for a lease. Throws QUOTA_EXCEEDED. */
  requestLease(): void {
    this.check('leases', this.leaseCount, 'leases and requests for leases', 'release a lease');
    this.leaseCount += 1;
  }

  /** Whether one more request may wait. */
  get mayWait(): boolean {
    return this.waiterCount < (this.quotas.waiters ?? Infinity);
  }

  /** The error of a request that finds no free permits, and may not wait. `name` has the kind of the resource. */
  tooManyWaiters(name: string): Error {
    const limit = this.quotas.waiters ?? 0;
    return quotaExceeded(
      'waiters',
      limit,
      `${name} is not free, and ${this.subject} has reached its quota of ${limit} waiting requests on this server; try again later, or ask the operator for a higher quota`,
    );
  }

  private check(quota: QuotaName, count: number, things: string, advice: string): void {
    const limit = this.quotas[quota];
    if (limit === undefined || count < limit) return;
    throw quotaExceeded(
      quota,
      limit,
      `${this.subject} has reached its quota of ${limit} ${things} on this server: nothing was done; ${advice}, or ask the operator for a higher quota`,
    );
  }
}
