import type { CheckOptions } from '../../support/checkers/violation';

/** The longest ttl is short, so that a minute has many leases, expiries and quarantines. */
const MAX_TTL_MS = 4000;
export const COMMAND_TIMEOUT_MS = 1000;
const KEEPALIVE_MS = 1000;

/** The environment of every server of the suite. */
export const SERVER_ENV = {
  HOLDFAST_MAX_TTL: `${MAX_TTL_MS}ms`,
  HOLDFAST_DEFAULT_TTL: '2s',
  HOLDFAST_COMMAND_TIMEOUT: `${COMMAND_TIMEOUT_MS}ms`,
  HOLDFAST_KEEPALIVE_TIME: `${KEEPALIVE_MS}ms`,
  HOLDFAST_KEEPALIVE_TIMEOUT: `${KEEPALIVE_MS}ms`,
  // The maximum age is short, so that in every round streams end by age and attach again during other faults.
  HOLDFAST_STREAM_MAX_AGE: '8s',
  HOLDFAST_DRAIN_TIMEOUT: '4s',
  // The suite reads how many operations shared a command.
  HOLDFAST_ADMIN_LISTEN: '127.0.0.1:0',
} as const;

/** The quarantine after a loss of data: the sum of the longest ttl, the bound of a replica's lag (10 s), and 5 s. */
export const QUARANTINE_MS = MAX_TTL_MS + 10_000 + 5_000;

/** The checkers' allowances for a busy machine. The defaults of the checkers are the allowances of the contract. */
export const ALLOWANCES: Partial<CheckOptions> = {
  latencyUs: 1_500_000,
  keepAliveUs: 2 * KEEPALIVE_MS * 1000,
  commandTimeoutUs: COMMAND_TIMEOUT_MS * 1000,
};
