import type { Duration } from '../../../generated/typescript/google/protobuf/duration';
import type * as proto from '../../../generated/typescript/holdfast/v1/lease';
import { LockMode } from '../../../generated/typescript/holdfast/v1/lease';
import {
  type AcquireLockRequest,
  AcquireLockResponse,
  type GetLockRequest,
  type GetLockResponse,
  HoldLockResponse,
  type LockServiceServer,
  LockServiceService,
  ReleaseLockResponse,
  RenewLockResponse,
  WatchLockResponse,
} from '../../../generated/typescript/holdfast/v1/lock_service';
import {
  type AcquirePermitsRequest,
  AcquirePermitsResponse,
  type DeleteSemaphoreRequest,
  type DeleteSemaphoreResponse,
  type GetSemaphoreRequest,
  type GetSemaphoreResponse,
  HoldPermitsResponse,
  ReleasePermitsResponse,
  RenewPermitsResponse,
  type SemaphoreServiceServer,
  SemaphoreServiceService,
  type SetSemaphoreLimitRequest,
  type SetSemaphoreLimitResponse,
  WatchSemaphoreResponse,
} from '../../../generated/typescript/holdfast/v1/semaphore_service';
import { checkName, requireName, Violations } from '../../rpc/fields';
import { type CallContext, type HandledCall, serverStream, unary } from '../../rpc/handlers';
import { type EventShape, EventStream } from '../../rpc/streams';
import { serializer, sharedSerializer } from '../../rpc/wire';
import type { HoldEvent, Limits, Service } from '../lease';
import type { ResourcePage } from '../lease-requests';
import type { LeaseEngine } from '../leases';
import {
  holdEventCoalesceKey,
  holdEventMessage,
  leaseMessage,
  lockMessage,
  lossCauseMessage,
  semaphoreMessage,
} from './lease-messages';
import {
  type AcquireFields,
  checkCount,
  checkLeaseId,
  checkMetadata,
  checkTtl,
  type FieldPath,
  type HoldStartMessage,
  leaseRequestReaders,
  type ListFields,
  type PermitAmount,
  type ReadAmount,
  readList,
  ttlBounds,
} from './request-fields';
import { revokeHandler, watchHandler } from './revoke-watch';

function holdEvents({
  receivedAt,
}: HandledCall): EventShape<HoldEvent, { holdEvent: proto.HoldEvent | undefined }> {
  return {
    toMessage: (event) => ({ holdEvent: holdEventMessage(event, receivedAt) }),
    coalesceKey: holdEventCoalesceKey,
  };
}

interface RenewFields {
  readonly leaseId: string;
  readonly ttl: Duration | undefined;
  readonly metadataUpdate: proto.MetadataUpdate | undefined;
}

/**
 * The handlers that LockService and SemaphoreService share. `readAmount` reads the fields in which the requests of the
 * two services differ.
 */
function leaseHandlers<Request extends AcquireFields>(
  context: CallContext,
  engine: LeaseEngine,
  service: Service,
  limits: Limits,
  readAmount: ReadAmount<Request>,
) {
  const { readAcquire, readStart } = leaseRequestReaders(limits, readAmount);
  return {
    acquire: unary<Request, { lease: proto.Lease | undefined }>(context, async (request, call) => {
      const lease = await engine.acquire(call, service, readAcquire(request, '', false, call.maxTtlMs));
      return { lease: leaseMessage(lease, call.receivedAt) };
    }),

    renew: unary<RenewFields, { lease: proto.Lease | undefined }>(context, async (request, call) => {
      const { leaseId, ttl, metadataUpdate } = request;
      const violations = new Violations();
      const renewal = {
        ttlMs: checkTtl(violations, 'ttl', ttl, ttlBounds(limits, call.maxTtlMs)),
        metadata:
          metadataUpdate && checkMetadata(violations, 'metadata_update.entries', metadataUpdate.entries),
      };
      checkLeaseId(violations, 'lease_id', service, leaseId);
      violations.throwIfAny();
      const lease = await engine.renew(call, service, leaseId, renewal);
      return { lease: leaseMessage(lease, call.receivedAt) };
    }),

    release: unary<{ leaseId: string }, { released: boolean; lossCause: proto.LossCause }>(
      context,
      async (request, call) => {
        const { released, lossCause } = await engine.release(call, service, request.leaseId);
        return { released, lossCause: lossCauseMessage(lossCause) };
      },
    ),

    list: <Request extends ListFields, Response>(toMessage: (page: ResourcePage) => Response) =>
      unary<Request, Response>(context, async (request, call) =>
        toMessage(await engine.list(call, service, readList(request), call)),
      ),

    hold: serverStream<HoldStartMessage<Request>, { holdEvent: proto.HoldEvent | undefined }>(
      context,
      async (request, call, stream) => {
        const start = readStart(request, call.maxTtlMs);
        const events = new EventStream(stream, holdEvents(call));
        try {
          await engine.hold(call, service, start, events);
        } finally {
          events.finish();
        }
      },
    ),
  };
}

/** The generated LockService, with faster serializers for the answers that each lease needs. */
export const lockServiceDefinition = {
  ...LockServiceService,
  acquireLock: { ...LockServiceService.acquireLock, responseSerialize: serializer(AcquireLockResponse) },
  renewLock: { ...LockServiceService.renewLock, responseSerialize: serializer(RenewLockResponse) },
  releaseLock: { ...LockServiceService.releaseLock, responseSerialize: serializer(ReleaseLockResponse) },
  holdLock: { ...LockServiceService.holdLock, responseSerialize: serializer(HoldLockResponse) },
  watchLock: { ...LockServiceService.watchLock, responseSerialize: sharedSerializer(WatchLockResponse) },
};

export function lockHandlers(context: CallContext, engine: LeaseEngine, limits: Limits): LockServiceServer {
  const { acquire, renew, release, list, hold } = leaseHandlers(context, engine, 'lock', limits, readMode);
  return {
    acquireLock: acquire,
    renewLock: renew,
    releaseLock: release,
    holdLock: hold,

    getLock: unary<GetLockRequest, GetLockResponse>(context, async ({ name }, call) => {
      requireName('name', name);
      return { lock: lockMessage(await engine.inspect(call, 'lock', name)) };
    }),

    listLocks: list(({ resources, nextPageToken, sampled }) => ({
      locks: resources.map(lockMessage),
      nextPageToken,
      sampled,
    })),

    watchLock: watchHandler(context, engine, 'lock', (view) => ({ lock: lockMessage(view) })),

    revokeLock: revokeHandler(context, engine, 'lock'),
  };
}

const EXCLUSIVE: PermitAmount = { mode: 'exclusive', permitCount: 1, initialLimit: undefined };
const SHARED: PermitAmount = { ...EXCLUSIVE, mode: 'shared' };

export function readMode(
  violations: Violations,
  { mode }: AcquireLockRequest,
  path: FieldPath,
): PermitAmount {
  switch (mode) {
    case LockMode.LOCK_MODE_UNSPECIFIED:
    case LockMode.LOCK_MODE_EXCLUSIVE:
      return EXCLUSIVE;
    case LockMode.LOCK_MODE_SHARED:
      return SHARED;
    default:
      violations.add(`${path}mode`, `${mode} is not a LockMode`);
      return EXCLUSIVE;
  }
}

/** The generated SemaphoreService, with faster serializers for the answers that each lease needs. */
export const semaphoreServiceDefinition = {
  ...SemaphoreServiceService,
  acquirePermits: {
    ...SemaphoreServiceService.acquirePermits,
    responseSerialize: serializer(AcquirePermitsResponse),
  },
  renewPermits: {
    ...SemaphoreServiceService.renewPermits,
    responseSerialize: serializer(RenewPermitsResponse),
  },
  releasePermits: {
    ...SemaphoreServiceService.releasePermits,
    responseSerialize: serializer(ReleasePermitsResponse),
  },
  holdPermits: { ...SemaphoreServiceService.holdPermits, responseSerialize: serializer(HoldPermitsResponse) },
  watchSemaphore: {
    ...SemaphoreServiceService.watchSemaphore,
    responseSerialize: sharedSerializer(WatchSemaphoreResponse),
  },
};

export function semaphoreHandlers(
  context: CallContext,
  engine: LeaseEngine,
  limits: Limits,
): SemaphoreServiceServer {
  const { acquire, renew, release, list, hold } = leaseHandlers(
    context,
    engine,
    'semaphore',
    limits,
    readPermits,
  );
  return {
    acquirePermits: acquire,
    renewPermits: renew,
    releasePermits: release,
    holdPermits: hold,

    setSemaphoreLimit: unary<SetSemaphoreLimitRequest, SetSemaphoreLimitResponse>(
      context,
      async ({ name, limit: newLimit, expectedLimit: expected, paused }) => {
        const violations = new Violations();
        checkName(violations, 'name', name);
        const number = checkCount(violations, 'limit', newLimit, 0);
        if (newLimit === undefined && paused === undefined) violations.add('limit', 'is required');
        if (newLimit !== undefined && paused !== undefined)
          violations.add('paused', 'must not be set together with limit');
        const expectedLimit = checkCount(violations, 'expected_limit', expected, 0);
        violations.throwIfAny();
        const limit = paused === undefined ? (number as number) : paused ? 'pause' : 'resume';
        const view = await engine.setLimit(name, { limit, expectedLimit });
        return { semaphore: semaphoreMessage(view) };
      },
    ),

    getSemaphore: unary<GetSemaphoreRequest, GetSemaphoreResponse>(context, async ({ name }, call) => {
      requireName('name', name);
      return { semaphore: semaphoreMessage(await engine.inspect(call, 'semaphore', name)) };
    }),

    deleteSemaphore: unary<DeleteSemaphoreRequest, DeleteSemaphoreResponse>(
      context,
      async ({ name, force }) => {
        requireName('name', name);
        await engine.remove(name, { force });
        return {};
      },
    ),

    listSemaphores: list(({ resources, nextPageToken, sampled }) => ({
      semaphores: resources.map(semaphoreMessage),
      nextPageToken,
      sampled,
    })),

    watchSemaphore: watchHandler(context, engine, 'semaphore', (view) => ({
      semaphore: semaphoreMessage(view),
    })),

    revokePermits: revokeHandler(context, engine, 'semaphore'),
  };
}

export function readPermits(
  violations: Violations,
  request: AcquirePermitsRequest,
  path: FieldPath,
): PermitAmount {
  return {
    mode: 'exclusive',
    permitCount: checkCount(violations, `${path}permit_count`, request.permitCount, 1) ?? 1,
    initialLimit: checkCount(violations, `${path}initial_limit`, request.initialLimit, 0),
  };
}
