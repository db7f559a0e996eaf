import type { Duration } from '../../../generated/typescript/google/protobuf/duration';
import { LockMode } from '../../../generated/typescript/holdfast/v1/lease';
import type { AcquireLockRequest } from '../../../generated/typescript/holdfast/v1/lock_service';
import type { AcquirePermitsRequest } from '../../../generated/typescript/holdfast/v1/semaphore_service';
import { durationToMs } from '../../../src/rpc/wire';
import type { Wanted } from './resource';

const DEFAULT_TTL_MS = 30_000;

/** The values that SessionStart has for acquires without values of their own. */
export interface Defaults {
  readonly holderId: string;
  readonly metadata: ReadonlyMap<string, string>;
}

function ms(duration: Duration | undefined): number | undefined {
  return duration && durationToMs(duration);
}

function common(request: AcquireLockRequest | AcquirePermitsRequest, { holderId, metadata }: Defaults) {
  return {
    name: request.name,
    requestId: request.requestId,
    ttlMs: ms(request.ttl) || DEFAULT_TTL_MS,
    waitMs: ms(request.waitTimeout),
    holderId: request.holderId || holderId,
    metadata: request.metadata.size > 0 ? request.metadata : metadata,
  };
}

export function wantedLock(request: AcquireLockRequest, defaults: Defaults): Wanted {
  const shared = request.mode === LockMode.LOCK_MODE_SHARED;
  return { ...common(request, defaults), kind: 'lock', shared, permits: 1, limit: 0 };
}

export function wantedPermits(request: AcquirePermitsRequest, defaults: Defaults): Wanted {
  const permits = request.permitCount || 1;
  return {
    ...common(request, defaults),
    kind: 'permits',
    shared: false,
    permits,
    limit: request.initialLimit ?? 0,
  };
}
