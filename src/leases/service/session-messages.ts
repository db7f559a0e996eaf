import { ErrorReason } from '../../../generated/typescript/holdfast/v1/error_reason';
import {
  SessionEndCause,
  type CommandFailed,
  type SessionEvent as EventMessage,
  type LeaseRenewal,
  type SessionStarted,
} from '../../../generated/typescript/holdfast/v1/session_service';
import type { LeaseEnd } from '../expire-offset';
import type { SessionEndCause as EndCause, SessionEvent, SessionLimits } from '../sessions/session-requests';
import { msToDuration } from '../../rpc/times';
import type { ErrorSummary } from '../../rpc/errors';
import { holderMessage, leaseMessage, lossCauseMessage, offsetMessage } from './messages';

/** Translates the engine's values into messages of sessions. */

const END_CAUSES: Readonly<Record<EndCause, SessionEndCause>> = {
  expired: SessionEndCause.SESSION_END_CAUSE_EXPIRED,
  revoked: SessionEndCause.SESSION_END_CAUSE_REVOKED,
  'store-reset': SessionEndCause.SESSION_END_CAUSE_STORE_RESET,
  'store-unavailable': SessionEndCause.SESSION_END_CAUSE_STORE_UNAVAILABLE,
  released: SessionEndCause.SESSION_END_CAUSE_RELEASED,
  superseded: SessionEndCause.SESSION_END_CAUSE_SUPERSEDED,
};

/** An event that the client receives as an event. Renewals have a list of their own. */
export type ClientEvent = Exclude<SessionEvent, { kind: 'renewed' }>;

/** Makes the parts of an error, and logs a defect. */
export type SummaryOf = (error: unknown) => ErrorSummary;

/** @param receivedAt the receipt of the heartbeat that the message names (ms) */
export function eventMessage(event: ClientEvent, receivedAt: number, summaryOf: SummaryOf): EventMessage {
  return { commandId: BigInt(event.commandId), event: eventCase(event, receivedAt, summaryOf) };
}

function eventCase(
  event: ClientEvent,
  receivedAt: number,
  summaryOf: SummaryOf,
): NonNullable<EventMessage['event']> {
  switch (event.kind) {
    case 'queued': {
      const { position, waiterCount, holder } = event;
      return { $case: 'queued', value: { position, waiterCount, holder: holder && holderMessage(holder) } };
    }
    case 'granted':
      return { $case: 'granted', value: { lease: leaseMessage(event.lease, receivedAt) } };
    case 'renewal-failed': {
      const { end, cause } = event;
      const value = { expireOffset: offsetMessage(end, receivedAt), cause: lossCauseMessage(cause) };
      return { $case: 'renewalFailed', value };
    }
    case 'released': {
      const { released, lossCause } = event;
      return { $case: 'released', value: { released, lossCause: lossCauseMessage(lossCause) } };
    }
    case 'ended':
      return { $case: 'ended', value: { cause: END_CAUSES[event.cause] } };
    case 'updated':
      return { $case: 'updated', value: {} };
    case 'cancelled':
      return { $case: 'cancelled', value: {} };
    case 'failed':
      return { $case: 'failed', value: failedMessage(summaryOf(event.error)) };
  }
}

function failedMessage(summary: ErrorSummary): CommandFailed {
  const { code, reason, message, violations, metadata, retryAfterMs } = summary;
  return {
    code,
    reason: ErrorReason[`ERROR_REASON_${reason}`],
    reasonText: reason,
    message,
    violations: violations.map(({ field, description }) => ({ field, description })),
    metadata: new Map(Object.entries(metadata)),
    retryDelay: retryAfterMs === undefined ? undefined : msToDuration(Math.ceil(retryAfterMs)),
  };
}

/**
 * @param newTtlMs undefined: the client knows the ttl
 * @param receivedAt the receipt of the heartbeat that the message names (ms)
 */
export function renewalMessage(
  leaseNumber: number,
  end: LeaseEnd,
  newTtlMs: number | undefined,
  receivedAt: number,
): LeaseRenewal {
  return {
    leaseNumber: BigInt(leaseNumber),
    expireOffset: offsetMessage(end, receivedAt),
    ttl: newTtlMs === undefined ? undefined : msToDuration(newTtlMs),
  };
}

export function startedMessage(limits: SessionLimits): SessionStarted {
  return {
    heartbeatTimeout: msToDuration(limits.heartbeatTimeoutMs),
    maxCommandCount: limits.maxCommandCount,
    maxMessageBytes: limits.maxMessageBytes,
    maxUnfinishedCount: limits.maxUnfinishedCount,
    maxLeaseCount: limits.maxLeaseCount,
  };
}
