import { credentials } from '@grpc/grpc-js';
import type { Lease } from '../../generated/typescript/holdfast/v1/lease';
import {
  AcquirePermitsRequest,
  SemaphoreServiceClient,
} from '../../generated/typescript/holdfast/v1/semaphore_service';
import { deadline, duration, holdfastError } from '../../clients/typescript';
import { acquireRequest, LockClient, promised } from '../load/lock-client';
import { monotonicMs } from '../support/monotonic';
import type { Contender, Permit, Place } from './contender';

/** Ours, through the server, with the deadline that the README gives. No clock but the monotonic one is read. */
abstract class Holdfast implements Contender {
  constructor(protected readonly place: Place) {}

  async acquire(name: string, ttlMs: number, waitMs: number): Promise<Permit | undefined> {
    const { pause } = this.place;
    const t0 = monotonicMs();
    await pause();
    const lease = await grantedOrContended(this.ask(name, ttlMs, waitMs));
    await pause();
    if (lease === undefined) return undefined;
    const permit = {
      until: deadline(t0, lease.expireOffset, lease.ttl, monotonicMs()),
      refresh: async (): Promise<boolean> => {
        const sentAt = monotonicMs();
        await pause();
        const renewed = await heldOrLost(this.renew(lease.leaseId));
        await pause();
        if (renewed === undefined) return false;
        permit.until = Math.max(
          permit.until,
          deadline(sentAt, renewed.expireOffset, renewed.ttl, monotonicMs()),
        );
        return true;
      },
      release: () => this.release(lease.leaseId),
    };
    return permit;
  }

  abstract close(): void;
  protected abstract ask(name: string, ttlMs: number, waitMs: number): Promise<LeaseAnswer>;
  protected abstract renew(leaseId: string): Promise<LeaseAnswer>;
  protected abstract release(leaseId: string): Promise<void>;
}

interface LeaseAnswer {
  readonly lease?: Lease | undefined;
}

const grantedOrContended = (answer: Promise<LeaseAnswer>) => leaseUnless('CONTENDED', answer);
const heldOrLost = (answer: Promise<LeaseAnswer>) => leaseUnless('LEASE_NOT_HELD', answer);

async function leaseUnless(reason: string, answer: Promise<LeaseAnswer>): Promise<Lease | undefined> {
  try {
    return (await answer).lease;
  } catch (error) {
    if (holdfastError(error)?.reason === reason) return undefined;
    throw error;
  }
}

export class HoldfastLock extends Holdfast {
  private readonly client: LockClient;

  constructor(place: Place) {
    super(place);
    this.client = new LockClient(place.address);
  }

  close(): void {
    this.client.close();
  }

  protected ask(name: string, ttlMs: number, waitMs: number): Promise<LeaseAnswer> {
    return promised((done) => this.client.stub.acquireLock(acquireRequest(name, ttlMs, waitMs), done));
  }

  protected renew(leaseId: string): Promise<LeaseAnswer> {
    return promised((done) => this.client.stub.renewLock({ leaseId, ttl: undefined }, done));
  }

  protected async release(leaseId: string): Promise<void> {
    await promised((done) => this.client.stub.releaseLock({ leaseId }, done));
  }
}

export class HoldfastSemaphore extends Holdfast {
  private readonly stub: SemaphoreServiceClient;

  constructor(place: Place) {
    super(place);
    this.stub = new SemaphoreServiceClient(place.address, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
    });
  }

  close(): void {
    this.stub.close();
  }

  protected ask(name: string, ttlMs: number, waitMs: number): Promise<LeaseAnswer> {
    const request = AcquirePermitsRequest.fromPartial({
      name,
      ttl: duration(ttlMs),
      waitTimeout: duration(waitMs),
      initialLimit: this.place.limit,
    });
    return promised((done) => this.stub.acquirePermits(request, done));
  }

  protected renew(leaseId: string): Promise<LeaseAnswer> {
    return promised((done) => this.stub.renewPermits({ leaseId, ttl: undefined }, done));
  }

  protected async release(leaseId: string): Promise<void> {
    await promised((done) => this.stub.releasePermits({ leaseId }, done));
  }
}
