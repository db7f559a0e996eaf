import type { FaultStarted } from '../../../support/history';
import { QUARANTINE_MS } from '../settings';
import { SECOND_US } from './fault';

type Marked = Required<Pick<FaultStarted, 'excuses' | 'explains' | 'graceUs'>>;

/** The time to detect the loss and to serve the waiters after the quarantine. */
const AFTERWARDS_US = 8 * SECOND_US;

/**
 * The allowed effects of a store that lost data: leases are lost and grants pause. Two holders, too many permits, a
 * smaller token, and LOST after the next grant are never allowed.
 */
export const FORGETTING: Marked = {
  excuses: ['fifo', 'lost_wake_up', 'recovery', 'dead_grant', 'idempotence', 'truthful_offset'],
  explains: ['EXPIRED', 'STORE_RESET', 'STORE_UNAVAILABLE'],
  graceUs: QUARANTINE_MS * 1000 + AFTERWARDS_US,
};

/** The allowed effects of a store that kept all data without a proof: grants pause as long, and no lease is lost. */
export const SUSPECT: Marked = {
  excuses: ['lost_wake_up', 'recovery', 'dead_grant'],
  explains: ['EXPIRED', 'STORE_UNAVAILABLE'],
  graceUs: FORGETTING.graceUs,
};
