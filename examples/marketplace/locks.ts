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
import { pauseAfter } from '../worker-typescript/retry';
import type { Servers } from '../worker-typescript/servers';

/** How long a call is repeated while no server answers. */
const RETRY_FOR_MS = 2000;
/** The time for an answer, added to the requested wait. */
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

/** Locks for work of a few milliseconds. One call acquires a lock, one call releases it. No renewals. */
export class Locks {
  /** The number of repeated calls. */
  retryCount = 0;

  constructor(
    private readonly servers: Servers,
    private readonly settings: LockSettings,
  ) {}

  /** Undefined when other holders kept the lock for the whole wait, or when no server could be reached. */
  async acquire(name: string): Promise<HeldLock | undefined> {
    const { holderId, ttlMs, waitMs } = this.settings;
    // All attempts use one id. If an attempt was granted and its answer was lost, the next attempt gets the same lease.
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

  /** False when the lease had already ended, or when no server could be reached. Then the lease expires later. */
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
        // Another caller that shares the servers may already have selected the next one.
        if (this.servers.address === address) this.servers.next();
        await sleep(pauseMs);
      }
    }
  }
}

/**
 * CONTENDED: other holders kept the lock. REQUEST_FINISHED: an attempt was granted, its answer was lost, and its lease
 * has ended; no work was done under that lease.
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
