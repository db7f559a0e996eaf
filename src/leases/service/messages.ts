import type { HolderView, HoldEvent, Lease, LossCause, Mode, ResourceView, WaiterView } from '../lease';
import { expireOffsetMs, type LeaseEnd } from '../expire-offset';
import * as proto from '../../../generated/typescript/holdfast/v1/lease';
import type { Duration } from '../../../generated/typescript/google/protobuf/duration';
import type { Lock } from '../../../generated/typescript/holdfast/v1/lock_service';
import type { Semaphore } from '../../../generated/typescript/holdfast/v1/semaphore_service';
import { msToDuration, msToTimestamp } from '../../rpc/times';

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

export function offsetMessage(end: LeaseEnd, receivedAt: number): Duration {
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

export function holderMessage(holder: HolderView): proto.Holder {
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
