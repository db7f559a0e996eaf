import { LockMode } from '../../generated/typescript/holdfast/v1/lease';
import {
  AcquireLockResponse,
  HoldLockResponse,
  LockServiceService,
  ReleaseLockResponse,
  RenewLockResponse,
  type AcquireLockRequest,
  type GetLockRequest,
  type GetLockResponse,
  type HoldLockRequest,
  type LockServiceServer,
  type ReleaseLockRequest,
  type RenewLockRequest,
} from '../../generated/typescript/holdfast/v1/lock_service';
import type { AcquireRequest, Call, HoldSink, HoldStart, ReleaseResult } from '../engine/call';
import { HoldfastError } from '../engine/errors';
import type { HoldEvent, Lease, ResourceView, Service } from '../engine/lease';
import type { Limits } from '../engine/limits';
import { serverStream, unary, type CallContext } from './call';
import {
  checkHolderId,
  checkLeaseId,
  checkMetadata,
  checkName,
  checkRequestId,
  checkTtl,
  checkWaitTimeout,
  Violations,
} from './fields';
import { holdEventMessage, holdEventSlot, leaseMessage, lockMessage, lossCauseMessage } from './messages';
import { serializer } from './serialize';
import { EventStream, type EventShape } from './stream';

/** What the handlers ask of the permits engine. */
export interface PermitsEngine {
  acquire(call: Call, service: Service, request: AcquireRequest): Promise<Lease>;
  renew(call: Call, service: Service, leaseId: string, ttlMs: number | undefined): Promise<Lease>;
  release(call: Call, service: Service, leaseId: string): Promise<ReleaseResult>;
  hold(call: Call, service: Service, start: HoldStart, sink: HoldSink): Promise<void>;
  inspect(service: Service, name: string): Promise<ResourceView>;
}

/** LockService as generated, but for what is quicker on the way of every lease. */
export const lockServiceDefinition = {
  ...LockServiceService,
  acquireLock: { ...LockServiceService.acquireLock, responseSerialize: serializer(AcquireLockResponse) },
  renewLock: { ...LockServiceService.renewLock, responseSerialize: serializer(RenewLockResponse) },
  releaseLock: { ...LockServiceService.releaseLock, responseSerialize: serializer(ReleaseLockResponse) },
  holdLock: { ...LockServiceService.holdLock, responseSerialize: serializer(HoldLockResponse) },
};

/** The handlers of LockService: they check and translate, the engine decides. */
export function lockHandlers(context: CallContext, engine: PermitsEngine, limits: Limits): LockServiceServer {
  return {
    acquireLock: unary<AcquireLockRequest, AcquireLockResponse>(context, async (request, call) => {
      const lease = await engine.acquire(call, 'lock', readAcquire(request, limits));
      return { lease: leaseMessage(lease) };
    }),

    renewLock: unary<RenewLockRequest, RenewLockResponse>(context, async (request, call) => {
      const violations = new Violations();
      const ttlMs = checkTtl(violations, 'ttl', request.ttl, limits);
      checkLeaseId(violations, 'lease_id', 'lock', request.leaseId);
      violations.throwIfAny();
      const lease = await engine.renew(call, 'lock', request.leaseId, ttlMs);
      return { lease: leaseMessage(lease) };
    }),

    releaseLock: unary<ReleaseLockRequest, ReleaseLockResponse>(context, async (request, call) => {
      const { released, lossCause } = await engine.release(call, 'lock', request.leaseId);
      return { released, lossCause: lossCauseMessage(lossCause) };
    }),

    holdLock: serverStream<HoldLockRequest, HoldLockResponse>(context, async (request, call, stream) => {
      const start = readHold(request, limits);
      const events = new EventStream(stream, HOLD_LOCK_EVENTS);
      try {
        await engine.hold(call, 'lock', start, events);
      } finally {
        events.finish();
      }
    }),

    getLock: unary<GetLockRequest, GetLockResponse>(context, async (request) => {
      const violations = new Violations();
      checkName(violations, 'name', request.name);
      violations.throwIfAny();
      return {
        lock: lockMessage(await engine.inspect('lock', request.name)),
      };
    }),
  };
}

const HOLD_LOCK_EVENTS: EventShape<HoldEvent, HoldLockResponse> = {
  toMessage: (event) => ({ holdEvent: holdEventMessage(event) }),
  slot: holdEventSlot,
};

function readAcquire(request: AcquireLockRequest, limits: Limits): AcquireRequest {
  const violations = new Violations();
  const acquire = checkAcquire(violations, request, limits, '', false);
  violations.throwIfAny();
  refuseShared(request.mode);
  return acquire;
}

function readHold(request: HoldLockRequest, limits: Limits): HoldStart {
  const violations = new Violations();
  const { start } = request;
  switch (start?.$case) {
    case 'acquire': {
      const acquire = checkAcquire(violations, start.value, limits, 'acquire.', true);
      violations.throwIfAny();
      refuseShared(start.value.mode);
      return {
        kind: 'acquire',
        request: { ...acquire, requestId: acquire.requestId as string },
      };
    }
    case 'leaseId':
      return { kind: 'attach', leaseId: start.value };
    default:
      violations.add('start', 'is required: acquire or lease_id');
      return violations.refuse();
  }
}

/** `path` stands before the field's name where the request is part of another message. */
function checkAcquire(
  violations: Violations,
  request: AcquireLockRequest,
  limits: Limits,
  path: '' | 'acquire.',
  needsRequestId: boolean,
): AcquireRequest {
  checkName(violations, `${path}name`, request.name);
  checkHolderId(violations, `${path}holder_id`, request.holderId);
  if (!(request.mode in LockMode) || request.mode === LockMode.UNRECOGNIZED) {
    violations.add(`${path}mode`, `${request.mode} is no LockMode`);
  }
  return {
    name: request.name,
    requestId: checkRequestId(violations, `${path}request_id`, request.requestId, needsRequestId),
    mode: 'exclusive',
    permitCount: 1,
    holderId: request.holderId,
    metadata: checkMetadata(violations, `${path}metadata`, request.metadata),
    ttlMs: checkTtl(violations, `${path}ttl`, request.ttl, limits) ?? limits.defaultTtlMs,
    waitTimeoutMs: checkWaitTimeout(violations, `${path}wait_timeout`, request.waitTimeout),
  };
}

function refuseShared(mode: LockMode): void {
  if (mode !== LockMode.LOCK_MODE_SHARED) return;
  throw new HoldfastError('NOT_IMPLEMENTED', 'this server has no shared locks; ask for LOCK_MODE_EXCLUSIVE');
}
