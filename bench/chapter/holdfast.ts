import { deadline, holdfastError } from '../../clients/typescript';
import type { Lease } from '../../generated/typescript/holdfast/v1/lease';
import { LockClient, SemaphoreClient } from '../../test/support/clients/lease-client';
import { monotonicMs } from '../support/monotonic';
import type { Contender, Place } from './contender';

/** The calls of the two services that a contender makes. */
interface LeaseCalls {
  acquire(wanted: { name: string; ttlMs: number; waitMs: number; initialLimit?: number }): Promise<Lease>;
  renew(leaseId: string): Promise<Lease>;
  release(leaseId: string): Promise<unknown>;
  close(): void;
}

/** Holdfast through its server, with the deadline rule of docs/guarantees.md. Only the monotonic clock is read. */
function holdfast({ pause }: Place, calls: LeaseCalls, limit: { initialLimit?: number }): Contender {
  return {
    acquire: async (name, ttlMs, waitMs) => {
      const t0 = monotonicMs();
      await pause();
      const lease = await leaseUnless('CONTENDED', calls.acquire({ name, ttlMs, waitMs, ...limit }));
      await pause();
      if (lease === undefined) return undefined;
      const permit = {
        until: deadline(t0, lease.expireOffset, lease.ttl, monotonicMs()),
        refresh: async (): Promise<boolean> => {
          const sentAt = monotonicMs();
          await pause();
          const renewed = await leaseUnless('LEASE_NOT_HELD', calls.renew(lease.leaseId));
          await pause();
          if (renewed === undefined) return false;
          permit.until = Math.max(
            permit.until,
            deadline(sentAt, renewed.expireOffset, renewed.ttl, monotonicMs()),
          );
          return true;
        },
        release: async () => void (await calls.release(lease.leaseId)),
      };
      return permit;
    },
    close: () => calls.close(),
  };
}

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
  return holdfast(place, new LockClient(place.address), {});
}

export function holdfastSemaphore(place: Place): Contender {
  return holdfast(place, new SemaphoreClient(place.address), { initialLimit: place.limit });
}
