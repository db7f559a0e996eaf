import { LossCause as StoredCause } from '../../../generated/typescript/holdfast/v1/lease';
import { SessionEndCause } from '../../../generated/typescript/holdfast/v1/session_service';
import type { LossCause } from '../errors';

const ENDS: ReadonlyMap<SessionEndCause, LossCause> = new Map([
  [SessionEndCause.SESSION_END_CAUSE_EXPIRED, 'EXPIRED'],
  [SessionEndCause.SESSION_END_CAUSE_REVOKED, 'REVOKED'],
  [SessionEndCause.SESSION_END_CAUSE_STORE_RESET, 'STORE_RESET'],
  [SessionEndCause.SESSION_END_CAUSE_STORE_UNAVAILABLE, 'STORE_UNAVAILABLE'],
  [SessionEndCause.SESSION_END_CAUSE_RELEASED, 'RELEASED'],
  [SessionEndCause.SESSION_END_CAUSE_SUPERSEDED, 'SUPERSEDED'],
]);

const STORED: ReadonlyMap<StoredCause, LossCause | undefined> = new Map([
  [StoredCause.LOSS_CAUSE_UNSPECIFIED, undefined],
  [StoredCause.LOSS_CAUSE_EXPIRED, 'EXPIRED'],
  [StoredCause.LOSS_CAUSE_REVOKED, 'REVOKED'],
  [StoredCause.LOSS_CAUSE_STORE_RESET, 'STORE_RESET'],
  [StoredCause.LOSS_CAUSE_STORE_UNAVAILABLE, 'STORE_UNAVAILABLE'],
]);

/** The cause of an end that the server tells. An end without a cause, or with a newer one, is an end. */
export function causeOfEnd(cause: SessionEndCause): LossCause {
  return ENDS.get(cause) ?? 'UNRECOGNIZED';
}

/** The cause in the answer to a release. Undefined: the server does not know why the lease had ended. */
export function causeOfAnswer(cause: StoredCause): LossCause | undefined {
  return STORED.has(cause) ? STORED.get(cause) : 'UNRECOGNIZED';
}

/** After these ends others may have held the lease before its deadline. An expired lease ends after the deadline. */
export const EARLY_ENDS: ReadonlySet<LossCause> = new Set(['REVOKED', 'STORE_RESET']);
