import { LockMode } from '../../../generated/typescript/holdfast/v1/lease';
import {
  AcquireLockResponse,
  HoldLockResponse,
  LockServiceService,
  ReleaseLockResponse,
  RenewLockResponse,
  type AcquireLockRequest,
  type GetLockRequest,
  type GetLockResponse,
  type LockServiceServer,
} from '../../../generated/typescript/holdfast/v1/lock_service';
import type { Limits } from '../../engine/leases/limits';
import { unary, type CallContext } from '../grpc/call';
import { refuseBadName, type Violations } from '../grpc/fields';
import { leaseHandlers, type Amount, type Path, type PermitsEngine } from './lease-handlers';
import { lockMessage } from './messages';
import { serializer } from '../grpc/serialize';

/** LockService as generated, but for what is quicker on the way of every lease. */
export const lockServiceDefinition = {
  ...LockServiceService,
  acquireLock: { ...LockServiceService.acquireLock, responseSerialize: serializer(AcquireLockResponse) },
  renewLock: { ...LockServiceService.renewLock, responseSerialize: serializer(RenewLockResponse) },
  releaseLock: { ...LockServiceService.releaseLock, responseSerialize: serializer(ReleaseLockResponse) },
  holdLock: { ...LockServiceService.holdLock, responseSerialize: serializer(HoldLockResponse) },
};

/** The handlers of LockService. */
export function lockHandlers(context: CallContext, engine: PermitsEngine, limits: Limits): LockServiceServer {
  const { acquire, renew, release, hold } = leaseHandlers(context, engine, 'lock', limits, readMode);
  return {
    acquireLock: acquire,
    renewLock: renew,
    releaseLock: release,
    holdLock: hold,

    getLock: unary<GetLockRequest, GetLockResponse>(context, async ({ name }) => {
      refuseBadName(name);
      return { lock: lockMessage(await engine.inspect('lock', name)) };
    }),
  };
}

const EXCLUSIVE: Amount = { mode: 'exclusive', permitCount: 1, initialLimit: undefined };
const SHARED: Amount = { ...EXCLUSIVE, mode: 'shared' };

function readMode(violations: Violations, { mode }: AcquireLockRequest, path: Path): Amount {
  switch (mode) {
    case LockMode.LOCK_MODE_UNSPECIFIED:
    case LockMode.LOCK_MODE_EXCLUSIVE:
      return EXCLUSIVE;
    case LockMode.LOCK_MODE_SHARED:
      return SHARED;
    default:
      violations.add(`${path}mode`, `${mode} is no LockMode`);
      return EXCLUSIVE;
  }
}
