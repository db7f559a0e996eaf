import type { Duration } from '../../../generated/typescript/google/protobuf/duration';
import type * as proto from '../../../generated/typescript/holdfast/v1/lease';
import { LockMode } from '../../../generated/typescript/holdfast/v1/lease';
import {
  type AcquireLockRequest,
  AcquireLockResponse,
  HoldLockResponse,
  LockServiceService,
  ReleaseLockResponse,
  RenewLockResponse,
  WatchLockResponse,
} from '../../../generated/typescript/holdfast/v1/lock_service';
import {
  type AcquirePermitsRequest,
  AcquirePermitsResponse,
  HoldPermitsResponse,
  ReleasePermitsResponse,
  RenewPermitsResponse,
  SemaphoreServiceService,
  WatchSemaphoreResponse,
} from '../../../generated/typescript/holdfast/v1/semaphore_service';
import { checkName, requireName, Violations } from '../../rpc/fields';
import type { HandledCall, RequestRights, Rows, ServiceRows, UnaryRow, WatchRow } from '../../rpc/service';
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
  byLeaseId,
  byName,
  byStart,
  checkCount,
  checkLeaseId,
  checkMetadata,
  checkTtl,
  type FieldPath,
  filtered,
  type HoldStartMessage,
  leaseRequestReaders,
  type ListFields,
  type PermitAmount,
  type ReadAmount,
  readList,
  ttlBounds,
} from './request-fields';
import { revokeRow, watchRow } from './revoke-watch';

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

interface LeaseAnswer {
  lease: proto.Lease | undefined;
}

interface ReleaseAnswer {
  released: boolean;
  lossCause: proto.LossCause;
}

interface HoldAnswer {
  holdEvent: proto.HoldEvent | undefined;
}

/**
 * The rows that LockService and SemaphoreService share. `readAmount` reads the fields in which the requests of the two
 * services differ.
 */
function leaseRows<Request extends AcquireFields>(
  engine: LeaseEngine,
  service: Service,
  limits: Limits,
  readAmount: ReadAmount<Request>,
) {
  const { readAcquire, readStart } = leaseRequestReaders(limits, readAmount);
  const acquire: UnaryRow<Request, LeaseAnswer> = {
    names: byName,
    load: 'normal',
    handle: async (request, call) => {
      const lease = await engine.acquire(call, service, readAcquire(request, '', false, call));
      return { lease: leaseMessage(lease, call.receivedAt) };
    },
  };
  const renew: UnaryRow<RenewFields, LeaseAnswer> = {
    names: byLeaseId(service),
    load: 'high',
    keepsLease: () => true,
    handle: async ({ leaseId, ttl, metadataUpdate }, call) => {
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
    },
  };
  const release: UnaryRow<{ leaseId: string }, ReleaseAnswer> = {
    names: byLeaseId(service),
    load: 'high',
    keepsLease: () => true,
    handle: async (request, call) => {
      const { released, lossCause } = await engine.release(call, service, request.leaseId);
      return { released, lossCause: lossCauseMessage(lossCause) };
    },
  };
  const hold: WatchRow<HoldStartMessage<Request>, HoldAnswer> = {
    names: byStart(service),
    load: 'normal',
    keepsLease: ({ start }) => start?.$case === 'leaseId',
    handle: async (request, call, stream) => {
      const start = readStart(request, call);
      const events = new EventStream(stream, holdEvents(call));
      try {
        await engine.hold(call, service, start, events);
      } finally {
        events.finish();
      }
    },
  };
  const list = <Answer>(toMessage: (page: ResourcePage) => Answer): UnaryRow<ListFields, Answer> => ({
    names: filtered,
    load: 'low',
    handle: async (request, call) => toMessage(await engine.list(call, service, readList(request), call)),
  });
  return { acquire, renew, release, hold, list };
}

export type LockRows = ServiceRows<typeof LockServiceService>;

/** Serializers of our own are faster, for the answers that each lease needs. */
export function lockService(engine: LeaseEngine, limits: Limits): LockRows {
  const { acquire, renew, release, hold, list } = leaseRows(engine, 'lock', limits, readMode);
  const rows: Rows<typeof LockServiceService> = {
    acquireLock: { ...acquire, answer: serializer(AcquireLockResponse) },
    renewLock: { ...renew, answer: serializer(RenewLockResponse) },
    releaseLock: { ...release, answer: serializer(ReleaseLockResponse) },
    holdLock: { ...hold, answer: serializer(HoldLockResponse) },
    getLock: {
      names: byName,
      load: 'low',
      handle: async ({ name }, call) => {
        requireName('name', name);
        return { lock: lockMessage(await engine.inspect(call, 'lock', name)) };
      },
    },
    listLocks: list(({ resources, nextPageToken, sampled }) => ({
      locks: resources.map(lockMessage),
      nextPageToken,
      sampled,
    })),
    watchLock: {
      ...watchRow(engine, 'lock', (view) => ({ lock: lockMessage(view) })),
      answer: sharedSerializer(WatchLockResponse),
    },
    revokeLock: revokeRow(engine, 'lock'),
  };
  return { definition: LockServiceService, rows, kind: 'lock' };
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

export type SemaphoreRows = ServiceRows<typeof SemaphoreServiceService>;

export function semaphoreService(engine: LeaseEngine, limits: Limits): SemaphoreRows {
  const { acquire, renew, release, hold, list } = leaseRows(engine, 'semaphore', limits, readPermits);
  const rows: Rows<typeof SemaphoreServiceService> = {
    acquirePermits: { ...acquire, answer: serializer(AcquirePermitsResponse) },
    renewPermits: { ...renew, answer: serializer(RenewPermitsResponse) },
    releasePermits: { ...release, answer: serializer(ReleasePermitsResponse) },
    holdPermits: { ...hold, answer: serializer(HoldPermitsResponse) },
    setSemaphoreLimit: {
      names: byName,
      load: 'normal',
      audit: ({ name, limit, expectedLimit, paused }) => ({
        action: paused === undefined ? 'set limit' : paused ? 'pause semaphore' : 'resume semaphore',
        name,
        details: {
          ...(limit !== undefined && { limit }),
          ...(expectedLimit !== undefined && { expectedLimit }),
        },
      }),
      handle: async ({ name, limit: newLimit, expectedLimit: expected, paused }) => {
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
    },
    getSemaphore: {
      names: byName,
      load: 'low',
      handle: async ({ name }, call) => {
        requireName('name', name);
        return { semaphore: semaphoreMessage(await engine.inspect(call, 'semaphore', name)) };
      },
    },
    deleteSemaphore: {
      names: ({ name, force }, caller) => {
        caller.require(name);
        if (force) caller.requireVerb('admin', name);
      },
      load: 'normal',
      audit: ({ name, force }) => ({
        action: force ? 'delete semaphore by force' : 'delete semaphore',
        name,
      }),
      handle: async ({ name, force }) => {
        requireName('name', name);
        await engine.remove(name, { force });
        return {};
      },
    },
    listSemaphores: list(({ resources, nextPageToken, sampled }) => ({
      semaphores: resources.map(semaphoreMessage),
      nextPageToken,
      sampled,
    })),
    watchSemaphore: {
      ...watchRow(engine, 'semaphore', (view) => ({ semaphore: semaphoreMessage(view) })),
      answer: sharedSerializer(WatchSemaphoreResponse),
    },
    revokePermits: revokeRow(engine, 'semaphore'),
  };
  return { definition: SemaphoreServiceService, rows, kind: 'semaphore' };
}

/** Without the permission to set limits, `initial_limit` counts as unset, so the semaphore must exist. */
export function readPermits(
  violations: Violations,
  { name, permitCount, initialLimit }: AcquirePermitsRequest,
  path: FieldPath,
  rights: RequestRights,
): PermitAmount {
  const maySet = initialLimit !== undefined && rights.may('limit', name);
  return {
    mode: 'exclusive',
    permitCount: checkCount(violations, `${path}permit_count`, permitCount, 1) ?? 1,
    initialLimit: checkCount(violations, `${path}initial_limit`, maySet ? initialLimit : undefined, 0),
  };
}
