import type { Duration } from '../../../generated/typescript/google/protobuf/duration';
import { ErrorReason } from '../../../generated/typescript/holdfast/v1/error_reason';
import * as proto from '../../../generated/typescript/holdfast/v1/lease';
import type { Lock } from '../../../generated/typescript/holdfast/v1/lock_service';
import type { Semaphore } from '../../../generated/typescript/holdfast/v1/semaphore_service';
import {
  type CommandFailed,
  type SessionEvent as EventMessage,
  type LeaseRenewal,
  SessionEndCause,
  type SessionStarted,
} from '../../../generated/typescript/holdfast/v1/session_service';
import type { ErrorSummary } from '../../rpc/call-errors';
import { msToDuration, msToTimestamp } from '../../rpc/wire';
import {
  expireOffsetMs,
  type HolderView,
  type HoldEvent,
  type Lease,
  type LeaseEnd,
  type LossCause,
  type Mode,
  type ResourceView,
  type WaiterView,
} from '../lease';
import type { SessionEndCause as EndCause, SessionEvent, SessionLimits } from '../sessions/session-requests';

/** Translates the engine's values into messages of the contract. */

const LOSS_CAUSES: Readonly<Record<LossCause, proto.LossCause>> = {
  expired: proto.LossCause.LOSS_CAUSE_EXPIRED,
  revoked: proto.LossCause.LOSS_CAUSE_REVOKED,
  'store-reset': proto.LossCause.LOSS_CAUSE_STORE_RESET,
  'store-unavailable': proto.LossCause.LOSS_CAUSE_STORE_UNAVAILABLE,
};

const LOCK_MODES: Readonly<Record<Mode, proto.LockMode>> = {
  exclusive: proto.LockMode.LOCK_MODE_EXCLUSIVE,
  shared: proto.LockMode.LOCK_MODE_SHARED,
};

export function lossCauseMessage(cause: LossCause | undefined): proto.LossCause {
  return cause === undefined ? proto.LossCause.LOSS_CAUSE_UNSPECIFIED : LOSS_CAUSES[cause];
}

/** @param receivedAt the time from which the offset counts (ms) */
export function leaseMessage(lease: Lease, receivedAt: number): proto.Lease {
  return {
    leaseId: lease.leaseId,
    name: lease.name,
    requestId: lease.requestId,
    fencingToken: lease.fencingToken,
    permitCount: lease.permitCount,
    ttl: msToDuration(lease.ttlMs),
    expireOffset: offsetMessage(lease.end, receivedAt),
  };
}

function offsetMessage(end: LeaseEnd, receivedAt: number): Duration {
  return msToDuration(expireOffsetMs(receivedAt, end));
}

export function lockMessage(view: ResourceView): Lock {
  return {
    name: view.name,
    lastFencingToken: view.lastFencingToken,
    holderCount: view.holderCount,
    waiterCount: view.waiterCount,
    holders: view.holders.map(holderMessage),
    waiters: view.waiters.map(waiterMessage),
  };
}

export function semaphoreMessage(view: ResourceView): Semaphore {
  const limit = view.limit ?? 0;
  return {
    name: view.name,
    limit,
    usedCount: view.usedCount,
    overcommittedCount: Math.max(0, view.usedCount - limit),
    waiterCount: view.waiterCount,
    lastFencingToken: view.lastFencingToken,
    holders: view.holders.map(holderMessage),
    waiters: view.waiters.map(waiterMessage),
    holderCount: view.holderCount,
    keptLimit: view.keptLimit ?? 0,
  };
}

function lockModeMessage(mode: Mode | undefined): proto.LockMode {
  return mode === undefined ? proto.LockMode.LOCK_MODE_UNSPECIFIED : LOCK_MODES[mode];
}

function holderMessage(holder: HolderView): proto.Holder {
  return {
    holderId: holder.holderId,
    metadata: new Map(Object.entries(holder.metadata)),
    fencingToken: holder.fencingToken,
    permitCount: holder.permitCount,
    mode: lockModeMessage(holder.mode),
    acquireTime: msToTimestamp(holder.acquireTimeMs),
    expireTime: msToTimestamp(holder.expireTimeMs),
    revoked: holder.revoked,
    identity: holder.identity,
  };
}

function waiterMessage(waiter: WaiterView): proto.Waiter {
  return {
    holderId: waiter.holderId,
    metadata: new Map(Object.entries(waiter.metadata)),
    permitCount: waiter.permitCount,
    mode: lockModeMessage(waiter.mode),
    position: waiter.position,
    enqueueTime: msToTimestamp(waiter.enqueueTimeMs),
    identity: waiter.identity,
  };
}

/** @param receivedAt the time at which the stream's call was received (ms) */
export function holdEventMessage(event: HoldEvent, receivedAt: number): proto.HoldEvent {
  return { event: holdEventCase(event, receivedAt) };
}

function holdEventCase(event: HoldEvent, receivedAt: number): NonNullable<proto.HoldEvent['event']> {
  switch (event.kind) {
    case 'queued': {
      const { requestId, position, waiterCount } = event;
      const holder = event.holder && holderMessage(event.holder);
      return {
        $case: 'queued',
        value: { requestId, position, waiterCount, holder },
      };
    }
    case 'granted':
      return { $case: 'granted', value: { lease: leaseMessage(event.lease, receivedAt) } };
    case 'renewed':
      return {
        $case: 'renewed',
        value: { expireOffset: offsetMessage(event.end, receivedAt) },
      };
    case 'renewal-failed':
      return {
        $case: 'renewalFailed',
        value: {
          expireOffset: offsetMessage(event.end, receivedAt),
          cause: LOSS_CAUSES[event.cause],
        },
      };
    case 'released':
      return { $case: 'released', value: {} };
    case 'lost':
      return { $case: 'lost', value: { cause: LOSS_CAUSES[event.cause] } };
  }
}

/**
 * While a client does not read, only the latest queue position and the latest result of a renewal wait for the client.
 * All other events are delivered.
 */
export function holdEventCoalesceKey(event: HoldEvent): string | undefined {
  switch (event.kind) {
    case 'queued':
      return 'queued';
    case 'renewed':
    case 'renewal-failed':
      return 'renewal';
    default:
      return undefined;
  }
}

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
