import type { Clock } from './clock';
import { HoldfastError } from './errors';

/** The bounds of one caller, by their names in the policy file. Undefined: no bound. */
export interface Quotas {
  /** Leases on this server, with the requests that may still get a lease. */
  readonly leases?: number | undefined;
  /** Requests that wait for a lease on this server. */
  readonly waiters?: number | undefined;
  /** Open streams on this server. */
  readonly streams?: number | undefined;
  /**
   * Open sessions on this server. A second session of a client process does not count, so that the process can move its
   * leases to the next session.
   */
  readonly sessions?: number | undefined;
  /** Calls and messages of SuggestStream on this server. Calls that keep or end a lease do not count. */
  readonly commands_per_second?: number | undefined;
  /** Entries of all dictionaries of the caller together, on all servers. */
  readonly entries?: number | undefined;
  /** Bytes of the ids and records of these entries. */
  readonly bytes?: number | undefined;
}

export type QuotaName = keyof Quotas;

export const QUOTA_NAMES = [
  'leases',
  'waiters',
  'streams',
  'sessions',
  'commands_per_second',
  'entries',
  'bytes',
] as const satisfies readonly QuotaName[];

export const NO_QUOTAS: Quotas = Object.freeze({});

/** The quotas of use on one server, which several identities may share. */
export type CountedQuota = Exclude<QuotaName, 'entries' | 'bytes'>;

/** The use by all identities that share one quota. */
export class SharedUse {
  /** Unused for `commands_per_second`. */
  count = 0;
  /** As in Account, for `commands_per_second`. */
  usedUntil = -Infinity;
}

/** The quotas that a caller shares with others. Undefined: the caller has the quota alone. */
export type SharedUses = { readonly [Quota in CountedQuota]?: SharedUse | undefined };

const NOT_SHARED: SharedUses = Object.freeze({});

/** The source of all quotas. A reload of the policy makes a new source, in which nothing is counted yet. */
export interface QuotaSource {
  /** `identity` is empty for a caller without a proven identity. */
  quotasOf(identity: string): Quotas;
  /** Default: no quota is shared. */
  sharedOf?(identity: string): SharedUses;
}

export function quotaExceeded(
  quota: QuotaName,
  limit: number,
  text: string,
  retryAfterMs?: number,
): HoldfastError {
  return new HoldfastError('QUOTA_EXCEEDED', text, {
    metadata: { quota, limit: String(limit) },
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

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

/** Above this number of identities, accounts that are not used are forgotten. */
const MAX_UNUSED_ACCOUNTS = 10_000;
/**
 * The number of old accounts that are checked when an account is added. This number is above 1, so that unused
 * accounts are removed faster than accounts are added.
 */
const CHECKED_PER_CALL = 4;
/** The accounts that read a new policy in one turn: the quotas of an identity are found in well below 1 ms. */
const REJOINED_PER_TURN = 10;

/** The accounts of all callers of this server: one for each proven identity, or one for each connection without one. */
export class Accounts {
  private readonly ofIdentity = new Map<string, Account>();
  private readonly ofConnection = new WeakMap<object, Account>();

  constructor(
    private source: QuotaSource,
    private readonly clock: Clock,
  ) {}

  /** The number of identities with an account. */
  get size(): number {
    return this.ofIdentity.size;
  }

  /** Uses other quotas from now on. The counts stay. */
  replace(source: QuotaSource): void {
    this.source = source;
    this.rejoin([...this.ofIdentity.values()], source);
  }

  /** Also the leases of callers that are silent now count for the quotas that they share. */
  private rejoin(accounts: readonly Account[], source: QuotaSource, from = 0): void {
    if (source !== this.source) return;
    const end = Math.min(from + REJOINED_PER_TURN, accounts.length);
    for (const account of accounts.slice(from, end)) void account.shared;
    if (end < accounts.length) this.clock.after(0, () => this.rejoin(accounts, source, end));
  }

  of(identity: string, connection: object): Account {
    if (identity === '') return this.accountOfConnection(connection);
    let account = this.ofIdentity.get(identity);
    if (account === undefined) {
      account = this.newAccount(identity, identity);
      this.ofIdentity.set(identity, account);
      if (this.ofIdentity.size > MAX_UNUSED_ACCOUNTS) this.forgetSome();
    }
    return account;
  }

  private accountOfConnection(connection: object): Account {
    let account = this.ofConnection.get(connection);
    if (account === undefined) {
      account = this.newAccount('this connection', '');
      this.ofConnection.set(connection, account);
    }
    return account;
  }

  private newAccount(subject: string, identity: string): Account {
    let source: QuotaSource | undefined;
    let quotas: Quotas = NO_QUOTAS;
    let shared: SharedUses = NOT_SHARED;
    const read = (): void => {
      if (source === this.source) return;
      source = this.source;
      quotas = source.quotasOf(identity);
      shared = source.sharedOf?.(identity) ?? NOT_SHARED;
    };
    const readQuotas = (): Quotas => {
      read();
      return quotas;
    };
    const readShared = (): SharedUses => {
      read();
      return shared;
    };
    return new Account(subject, this.clock, readQuotas, readShared);
  }

  /** Forgets the oldest accounts that are not used. An account in use becomes the newest. */
  private forgetSome(): void {
    let checkedCount = 0;
    for (const [identity, account] of this.ofIdentity) {
      if (checkedCount++ === CHECKED_PER_CALL) return;
      this.ofIdentity.delete(identity);
      if (!account.isUnused) this.ofIdentity.set(identity, account);
    }
  }
}
