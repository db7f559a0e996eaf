import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Metadata, type CallOptions, type ServiceError } from '@grpc/grpc-js';
import {
  AcquireLockRequest,
  type AcquireLockResponse,
  type LockServiceClient,
  type ReleaseLockResponse,
} from '../../generated/typescript/holdfast/v1/lock_service';
import { deadline, duration, holdfastError } from '../../clients/typescript';
import { pauseAfter } from './retry';
import type { Servers } from './servers';

/** The time in which a call is repeated if no server answers. */
const RETRY_FOR_MS = 2000;
/** The time for an answer, in addition to the requested wait. */
const ANSWER_TIMEOUT_MS = 2000;

export interface HeldLock {
  readonly leaseId: string;
  readonly token: bigint;
  /** The deadline of the lease, on `performance.now()`. */
  readonly until: number;
}

export interface LockSettings {
  readonly holderId: string;
  readonly ttlMs: number;
  readonly waitMs: number;
}

/** Locks for work of a few milliseconds. One call acquires a lock, one call releases the lock, and no call renews. */
export class Locks {
  retryCount = 0;

  constructor(
    private readonly servers: Servers,
    private readonly settings: LockSettings,
  ) {}

  /**
   * Resolves to the held lock. Undefined: other holders kept the lock for the whole wait, or no server answered.
   */
  async acquire(name: string): Promise<HeldLock | undefined> {
    const { holderId, ttlMs, waitMs } = this.settings;
    // All attempts use one request_id. After a lost answer to a granted attempt, the next attempt gets the same lease.
    const request = AcquireLockRequest.create({
      name,
      holderId,
      ttl: duration(ttlMs),
      waitTimeout: duration(waitMs),
      requestId: randomUUID(),
    });
    return this.withRetries(async (client) => {
      const t0 = performance.now();
      const { lease } = await asPromise<AcquireLockResponse>((...rest) =>
        client.acquireLock(request, new Metadata(), optionsFor(waitMs), ...rest),
      );
      if (lease === undefined) throw new Error('a grant without a lease');
      const { leaseId, fencingToken, expireOffset, ttl } = lease;
      return { leaseId, token: fencingToken, until: deadline(t0, expireOffset, ttl) };
    });
  }

  /** False: the lease had already ended, or no server answered. In the second case the lease expires after its ttl. */
  async release({ leaseId }: HeldLock): Promise<boolean> {
    const answer = await this.withRetries((client) =>
      asPromise<ReleaseLockResponse>((...rest) =>
        client.releaseLock({ leaseId }, new Metadata(), optionsFor(0), ...rest),
      ),
    );
    return answer?.released ?? false;
  }

  /** Repeats a call at the next server while a retry can help. */
  private async withRetries<T>(call: (client: LockServiceClient) => Promise<T>): Promise<T | undefined> {
    const giveUpAt = performance.now() + RETRY_FOR_MS;
    for (let failures = 1; ; failures++) {
      const { address } = this.servers;
      try {
        return await call(this.servers.client());
      } catch (error) {
        if (isNotGranted(error)) return undefined;
        const pauseMs = pauseAfter(error as ServiceError, failures);
        if (pauseMs === undefined) throw error;
        if (performance.now() + pauseMs > giveUpAt) return undefined;
        this.retryCount += 1;
        // Another caller that shares `servers` may already have selected the next server.
        if (this.servers.address === address) this.servers.next();
        await sleep(pauseMs);
      }
    }
  }
}

/**
 * CONTENDED: other holders kept the lock. REQUEST_FINISHED: the answer to a granted attempt was lost and the lease has
 * ended. No work was done under this lease.
 */
function isNotGranted(error: unknown): boolean {
  const reason = holdfastError(error)?.reason;
  return reason === 'CONTENDED' || reason === 'REQUEST_FINISHED';
}

function optionsFor(waitMs: number): Partial<CallOptions> {
  return { deadline: Date.now() + waitMs + ANSWER_TIMEOUT_MS };
}

function asPromise<T>(start: (done: (error: ServiceError | null, value: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    start((error, value) => (error ? reject(error) : resolve(value)));
  });
}
