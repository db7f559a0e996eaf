import { deadline, holdfastError } from '../../clients/typescript';
import type { Lease } from '../../generated/typescript/holdfast/v1/lease';
import { LockClient } from '../../test/support/clients/lock-client';
import { SemaphoreClient } from '../../test/support/clients/semaphore-client';
import { monotonicMs } from '../support/monotonic';
import type { Contender, Permit, Place } from './contender';

/** The calls of the two services that a contender makes. */
interface LeaseCalls {
  acquire(name: string, ttlMs: number, waitMs: number): Promise<Lease>;
  renew(leaseId: string): Promise<Lease>;
  release(leaseId: string): Promise<unknown>;
  close(): void;
}

/** Holdfast through its server, with the deadline rule of docs/guarantees.md. Only the monotonic clock is read. */
class HoldfastContender implements Contender {
  constructor(
    private readonly place: Place,
    private readonly calls: LeaseCalls,
  ) {}

  async acquire(name: string, ttlMs: number, waitMs: number): Promise<Permit | undefined> {
    const { pause } = this.place;
    const t0 = monotonicMs();
    await pause();
    const lease = await leaseOrContended(this.calls.acquire(name, ttlMs, waitMs));
    await pause();
    if (lease === undefined) return undefined;
    const permit = {
      until: deadline(t0, lease.expireOffset, lease.ttl, monotonicMs()),
      refresh: async (): Promise<boolean> => {
        const sentAt = monotonicMs();
        await pause();
        const renewed = await leaseOrLost(this.calls.renew(lease.leaseId));
        await pause();
        if (renewed === undefined) return false;
        permit.until = Math.max(
          permit.until,
          deadline(sentAt, renewed.expireOffset, renewed.ttl, monotonicMs()),
        );
        return true;
      },
      release: async () => void (await this.calls.release(lease.leaseId)),
    };
    return permit;
  }

  close(): void {
    this.calls.close();
  }
}

const leaseOrContended = (answer: Promise<Lease>) => leaseUnless('CONTENDED', answer);
const leaseOrLost = (answer: Promise<Lease>) => leaseUnless('LEASE_NOT_HELD', answer);

/** Resolves to the lease, or to undefined if the call fails with this reason. Rejects after any other failure. */
async function leaseUnless(reason: string, answer: Promise<Lease>): Promise<Lease | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (holdfastError(error)?.reason === reason) return undefined;
    throw error;
  }
}

export function holdfastLock(place: Place): Contender {
  const client = new LockClient(place.address);
  return new HoldfastContender(place, {
    acquire: (name, ttlMs, waitMs) => client.acquire({ name, ttlMs, waitMs }),
    renew: (leaseId) => client.renew(leaseId),
    release: (leaseId) => client.release(leaseId),
    close: () => client.close(),
  });
}

export function holdfastSemaphore(place: Place): Contender {
  const client = new SemaphoreClient(place.address);
  return new HoldfastContender(place, {
    acquire: (name, ttlMs, waitMs) => client.acquire({ name, ttlMs, waitMs, initialLimit: place.limit }),
    renew: (leaseId) => client.renew(leaseId),
    release: (leaseId) => client.release(leaseId),
    close: () => client.close(),
  });
}
