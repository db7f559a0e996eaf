import { credentials, type ServiceError } from '@grpc/grpc-js';
import type { Lease } from '../../generated/typescript/holdfast/v1/lease';
import {
  AcquireLockRequest,
  LockServiceClient,
  type Lock,
  type ReleaseLockResponse,
} from '../../generated/typescript/holdfast/v1/lock_service';
import { duration } from '../../clients/typescript';

/** What a benchmark asks of LockService, as promises. One client is one connection. */
export class LockClient {
  readonly stub: LockServiceClient;

  constructor(address: string) {
    this.stub = new LockServiceClient(address, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
    });
  }

  async acquire(name: string, ttlMs: number, waitMs: number): Promise<Lease> {
    const request = acquireRequest(name, ttlMs, waitMs);
    const { lease } = await promised<{ lease?: Lease | undefined }>((done) =>
      this.stub.acquireLock(request, done),
    );
    if (lease === undefined) throw new Error('a grant without a lease');
    return lease;
  }

  async renew(leaseId: string): Promise<void> {
    await promised((done) => this.stub.renewLock({ leaseId, ttl: undefined }, done));
  }

  async release(leaseId: string): Promise<void> {
    const { released } = await promised<ReleaseLockResponse>((done) =>
      this.stub.releaseLock({ leaseId }, done),
    );
    if (!released) throw new Error('a lease was lost: the machine is too busy for this benchmark');
  }

  async get(name: string): Promise<Lock> {
    const { lock } = await promised<{ lock?: Lock | undefined }>((done) => this.stub.getLock({ name }, done));
    if (lock === undefined) throw new Error('GetLock without a lock');
    return lock;
  }

  close(): void {
    this.stub.close();
  }
}

export function acquireRequest(name: string, ttlMs: number, waitMs: number): AcquireLockRequest {
  return AcquireLockRequest.fromPartial({ name, ttl: duration(ttlMs), waitTimeout: duration(waitMs) });
}

export function promised<T>(
  start: (done: (error: ServiceError | null, value: T) => void) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    start((error, value) => (error ? reject(error) : resolve(value)));
  });
}
