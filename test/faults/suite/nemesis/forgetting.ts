import type { FaultStarted } from '../../../support/history';
import { QUARANTINE_MS } from '../settings';
import { SECOND_US } from './fault';

type Marked = Required<Pick<FaultStarted, 'excuses' | 'explains' | 'graceUs'>>;

/** The time to notice the loss and to serve the waiters after the quarantine. */
const AFTERWARDS_US = 8 * SECOND_US;

/**
 * What a store that lost data may do to clients: leases are lost and grants pause. Nothing excuses two holders, too many
 * permits, a token that goes back, or LOST after the next grant.
 */
export const FORGETTING: Marked = {
  excuses: ['fifo', 'lost_wake_up', 'recovery', 'dead_grant', 'idempotence', 'truthful_offset'],
  explains: ['EXPIRED', 'STORE_RESET', 'STORE_UNAVAILABLE'],
  graceUs: QUARANTINE_MS * 1000 + AFTERWARDS_US,
};

/** What a store that kept all data but cannot prove it may do: grants pause as long, and every lease is kept. */
export const SUSPECT: Marked = {
  excuses: ['lost_wake_up', 'recovery', 'dead_grant'],
  explains: ['EXPIRED', 'STORE_UNAVAILABLE'],
  graceUs: FORGETTING.graceUs,
};
