import type { FaultStarted } from '../../../support/history';
import { QUARANTINE_MS } from '../settings';
import { SECOND_US } from './fault';

type Marked = Required<Pick<FaultStarted, 'excuses' | 'explains' | 'graceUs'>>;

/** Servers find out, wait the quarantine out, and serve whoever waited meanwhile. */
const AFTERWARDS_US = 8 * SECOND_US;

/**
 * What a store may do to clients that has forgotten some of its data: leases are lost, grants pause. Two holders, too
 * many permits, a token that goes back and a loss told after the next grant are not excused by anything.
 */
export const FORGETTING: Marked = {
  excuses: ['fifo', 'lost_wake_up', 'recovery', 'dead_grant', 'idempotence', 'truthful_offset'],
  explains: ['EXPIRED', 'STORE_RESET', 'STORE_UNAVAILABLE'],
  graceUs: QUARANTINE_MS * 1000 + AFTERWARDS_US,
};

/**
 * Of a store that comes back whole and cannot prove it: grants pause just as long, and every lease is still there.
 */
export const SUSPECT: Marked = {
  excuses: ['lost_wake_up', 'recovery', 'dead_grant'],
  explains: ['EXPIRED', 'STORE_UNAVAILABLE'],
  graceUs: FORGETTING.graceUs,
};
