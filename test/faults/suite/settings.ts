import type { CheckOptions } from '../../support/checkers/violation';

/** Short spans, so that a minute has many leases, expiries and quarantines in it. */
const MAX_TTL_MS = 4000;
export const COMMAND_TIMEOUT_MS = 1000;
const KEEPALIVE_MS = 1000;

/** What every server of the suite is started with. */
export const SERVER_ENV = {
  HOLDFAST_MAX_TTL: `${MAX_TTL_MS}ms`,
  HOLDFAST_DEFAULT_TTL: '2s',
  HOLDFAST_COMMAND_TIMEOUT: `${COMMAND_TIMEOUT_MS}ms`,
  HOLDFAST_KEEPALIVE_TIME: `${KEEPALIVE_MS}ms`,
  HOLDFAST_KEEPALIVE_TIMEOUT: `${KEEPALIVE_MS}ms`,
  // Streams end by age and are attached again while others fail: both happen in every round.
  HOLDFAST_STREAM_MAX_AGE: '8s',
  HOLDFAST_DRAIN_TIMEOUT: '4s',
} as const;

/**
 * How long grants may pause once the store has forgotten: the longest ttl, the bound of a replica's lag (10 s), and
 * 5 s. Nothing is granted during it, so nothing that waits is owed a grant.
 */
export const QUARANTINE_MS = MAX_TTL_MS + 10_000 + 5_000;

/** The machine's allowances; the contract's are the checkers' own. */
export const ALLOWANCES: Partial<CheckOptions> = {
  latencyUs: 1_500_000,
  keepAliveUs: 2 * KEEPALIVE_MS * 1000,
  commandTimeoutUs: COMMAND_TIMEOUT_MS * 1000,
};
