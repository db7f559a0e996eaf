import { LockMode } from '../../../generated/typescript/holdfast/v1/lease';
import {
  AcquireLockResponse,
  HoldLockResponse,
  LockServiceService,
  ReleaseLockResponse,
  RenewLockResponse,
  WatchLockResponse,
  type AcquireLockRequest,
  type GetLockRequest,
  type GetLockResponse,
  type LockServiceServer,
} from '../../../generated/typescript/holdfast/v1/lock_service';
import type { Limits } from '../limits';
import type { LeaseEngine } from '../lease-engine';
import { unary, type CallContext } from '../../rpc/handlers';
import { requireName, type Violations } from '../../rpc/fields';
import { serializer, sharedSerializer } from '../../rpc/serialize';
import { leaseHandlers } from './lease-handlers';
import type { FieldPath, PermitAmount } from './lease-requests';
import { lockMessage } from './messages';
import { watchHandler } from './watch-handler';
import { revokeHandler } from './revoke-handler';

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
