import type { ServiceError } from '@grpc/grpc-js';
import type { Duration } from '../../generated/typescript/google/protobuf/duration';
import type * as proto from '../../generated/typescript/holdfast/v1/lease';
import {
  LockServiceClient,
  RevokeLockRequest,
  type AcquireLockRequest,
  type RevokeLockResponse,
} from '../../generated/typescript/holdfast/v1/lock_service';
import {
  AcquirePermitsRequest,
  SemaphoreServiceClient,
} from '../../generated/typescript/holdfast/v1/semaphore_service';
import type { Lease, Service } from '../../src/leases/lease';
import { encodeLeaseId } from '../../src/leases/lease-id';
import { someLease } from './fake-engines';
import { acquireRequest, call, drainStream, type Harness } from './harness';

/** The fields of an acquire request of either service. A service ignores the fields of the other service. */
export type Fields = Partial<AcquireLockRequest> & Partial<AcquirePermitsRequest>;
type Start = { $case: 'acquire'; value: Fields } | { $case: 'leaseId'; value: string };
interface LeaseAnswer {
  lease?: proto.Lease | undefined;
}

/** The calls that LockService and SemaphoreService have in common. One test covers both services. */
export interface LeaseCalls {
  readonly service: Service;
  /** A lease_id of this service. */
  readonly leaseId: string;
  acquire(fields?: Fields): Promise<LeaseAnswer>;
  hold(
    start: Start | undefined,
  ): Promise<{ messages: { holdEvent?: proto.HoldEvent | undefined }[]; error: ServiceError | undefined }>;
  renew(request: {
    leaseId: string;
    ttl: Duration | undefined;
    metadataUpdate?: proto.MetadataUpdate;
  }): Promise<LeaseAnswer>;
  release(leaseId: string): Promise<{ released: boolean; lossCause: proto.LossCause }>;
  /** Calls RevokeLock or RevokePermits. */
  revoke(fields: Partial<RevokeLockRequest>): Promise<RevokeLockResponse>;
  /** Calls GetLock or GetSemaphore. */
  get(name: string): Promise<unknown>;
}

export const SERVICES = ['lock', 'semaphore'] as const;

export function leaseCalls(harness: Harness, service: Service): LeaseCalls {
  return service === 'lock' ? lockCalls(harness) : semaphoreCalls(harness);
}

/** `someLease` with a lease_id of the service. */
export function leaseOf(service: Service): Lease {
  const { name, requestId } = someLease;
  const leaseId = encodeLeaseId({ resource: { service, name }, requestId, secret: 'A'.repeat(22) });
  return { ...someLease, leaseId };
}

function lockCalls(harness: Harness): LeaseCalls {
  const client = harness.client(LockServiceClient);
  return {
    service: 'lock',
    leaseId: leaseOf('lock').leaseId,
    acquire: (fields) => call(client, client.acquireLock, acquireRequest(fields)),
    hold: (start) => drainStream(client.holdLock({ start: filled(start, acquireRequest) })),
    renew: (request) => call(client, client.renewLock, { metadataUpdate: undefined, ...request }),
    release: (leaseId) => call(client, client.releaseLock, { leaseId }),
    revoke: (fields) =>
      call(client, client.revokeLock, { ...RevokeLockRequest.create({ name: 'hello' }), ...fields }),
    get: (name) => call(client, client.getLock, { name }),
  };
}

function semaphoreCalls(harness: Harness): LeaseCalls {
  const client = harness.client(SemaphoreServiceClient);
  return {
    service: 'semaphore',
    leaseId: leaseOf('semaphore').leaseId,
    acquire: (fields) => call(client, client.acquirePermits, permitsRequest(fields)),
    hold: (start) => drainStream(client.holdPermits({ start: filled(start, permitsRequest) })),
    renew: (request) => call(client, client.renewPermits, { metadataUpdate: undefined, ...request }),
    release: (leaseId) => call(client, client.releasePermits, { leaseId }),
    revoke: (fields) =>
      call(client, client.revokePermits, { ...RevokeLockRequest.create({ name: 'hello' }), ...fields }),
    get: (name) => call(client, client.getSemaphore, { name }),
  };
}

function permitsRequest(fields: Fields = {}): AcquirePermitsRequest {
  return { ...AcquirePermitsRequest.create({ name: 'hello' }), ...fields };
}

function filled<Request>(start: Start | undefined, request: (fields: Fields) => Request) {
  return start?.$case === 'acquire' ? { $case: start.$case, value: request(start.value) } : start;
}
