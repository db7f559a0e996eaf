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

export const NOT_SHARED: SharedUses = Object.freeze({});

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
