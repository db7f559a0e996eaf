import { LockMode as ProtoLockMode } from '../../../generated/typescript/holdfast/v1/lease';
import type { Service } from '../../../src/leases/lease';
import type { LockMode } from '../history';
import type { ClientOptions, Wanted } from './lease-client';
import { acquireRequest, LockClient } from './lock-client';
import { acquirePermitsRequest, SemaphoreClient } from './semaphore-client';

/** An acquire of either service. A lock has a mode. A semaphore has permits and a limit. */
export interface EitherWanted extends Wanted {
  readonly mode?: LockMode;
  readonly permits?: number;
  readonly initialLimit?: number;
}

/** A client of one of the two lease services, for tests that run over both. */
export type EitherClient = LockClient<EitherWanted> | SemaphoreClient<EitherWanted>;

export function eitherClient(service: Service, address: string, options: ClientOptions = {}): EitherClient {
  return service === 'lock'
    ? new LockClient(address, options, lockRequest)
    : new SemaphoreClient(address, options, permitsRequest);
}

export function lockRequest({ mode, ...wanted }: EitherWanted) {
  return acquireRequest({
    ...wanted,
    mode: mode === 'shared' ? ProtoLockMode.LOCK_MODE_SHARED : ProtoLockMode.LOCK_MODE_UNSPECIFIED,
  });
}

export function permitsRequest({ permits, ...wanted }: EitherWanted) {
  return acquirePermitsRequest({ ...wanted, ...(permits !== undefined && { permitCount: permits }) });
}
