import { credentials } from '@grpc/grpc-js';
import type { Lease } from '../../generated/typescript/holdfast/v1/lease';
import {
  AcquirePermitsRequest,
  SemaphoreServiceClient,
  type ReleasePermitsResponse,
} from '../../generated/typescript/holdfast/v1/semaphore_service';
import { duration } from '../../clients/typescript';
import { promised } from './lock-client';

/** What a benchmark asks of SemaphoreService, as promises. One client is one connection. */
export class SemaphoreClient {
  private readonly stub: SemaphoreServiceClient;

  constructor(address: string) {
    this.stub = new SemaphoreServiceClient(address, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
    });
  }

  async acquire(name: string, limit: number, ttlMs: number, waitMs: number): Promise<Lease> {
    const request = AcquirePermitsRequest.fromPartial({
      name,
      ttl: duration(ttlMs),
      waitTimeout: duration(waitMs),
      initialLimit: limit,
    });
    const { lease } = await promised<{ lease?: Lease | undefined }>((done) =>
      this.stub.acquirePermits(request, done),
    );
    if (lease === undefined) throw new Error('a grant without a lease');
    return lease;
  }

  async release(leaseId: string): Promise<void> {
    const { released } = await promised<ReleasePermitsResponse>((done) =>
      this.stub.releasePermits({ leaseId }, done),
    );
    if (!released) throw new Error('a lease was lost: the machine is too busy for this benchmark');
  }

  close(): void {
    this.stub.close();
  }
}
