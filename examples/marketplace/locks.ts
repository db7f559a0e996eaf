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

/** For how long a call is made again when no server answers; then its caller has to see. */
const INSIST_MS = 2000;
/** What an answer may take beyond the wait that was asked for. */
const ANSWER_MS = 2000;

export interface Held {
  readonly leaseId: string;
  readonly token: bigint;
  /** Until when we may believe in it, on `performance.now()`. */
  readonly until: number;
}

export interface LockSettings {
  readonly holderId: string;
  readonly ttlMs: number;
  readonly waitMs: number;
}

/** Locks for work that is over in milliseconds: acquired and released by a call each, never renewed. */
export class Locks {
  /** Calls that were made again. */
  resent = 0;

  constructor(
    private readonly servers: Servers,
    private readonly settings: LockSettings,
  ) {}

  /** Undefined: others had it for the whole wait, or no server could be reached. */
  async acquire(name: string): Promise<Held | undefined> {
    const { holderId, ttlMs, waitMs } = this.settings;
    // One id for all tries: should a try have been granted and only its answer lost, the next one gets that lease.
    const request = AcquireLockRequest.create({
      name,
      holderId,
      ttl: duration(ttlMs),
      waitTimeout: duration(waitMs),
      requestId: randomUUID(),
    });
    return this.insisting(async (client) => {
      const t0 = performance.now();
      const { lease } = await answered<AcquireLockResponse>((...rest) =>
        client.acquireLock(request, new Metadata(), optionsFor(waitMs), ...rest),
      );
      if (lease === undefined) throw new Error('a grant without a lease');
      const { leaseId, fencingToken, expireOffset, ttl } = lease;
      return { leaseId, token: fencingToken, until: deadline(t0, expireOffset, ttl) };
    });
  }

  /** False: it had ended before. Where no server can be reached it ends by itself, with its ttl. */
  async release({ leaseId }: Held): Promise<boolean> {
    const answer = await this.insisting((client) =>
      answered<ReleaseLockResponse>((...rest) =>
        client.releaseLock({ leaseId }, new Metadata(), optionsFor(0), ...rest),
      ),
    );
    return answer?.released ?? false;
  }

  /** Makes a call again, at the next server, while that is of any use. */
  private async insisting<T>(call: (client: LockServiceClient) => Promise<T>): Promise<T | undefined> {
    const giveUpAt = performance.now() + INSIST_MS;
    for (let failures = 1; ; failures++) {
      const { address } = this.servers;
      try {
        return await call(this.servers.client());
      } catch (error) {
        if (isNotToBeHad(error)) return undefined;
        const pauseMs = pauseAfter(error as ServiceError, failures);
        if (pauseMs === undefined) throw error;
        if (performance.now() + pauseMs > giveUpAt) return undefined;
        this.resent += 1;
        // Others who share the connection may have moved on already.
        if (this.servers.address === address) this.servers.next();
        await sleep(pauseMs);
      }
    }
  }
}

/**
 * CONTENDED is an answer, not a fault. REQUEST_FINISHED: a try was granted, its answer was lost, and its lease is
 * over; nothing was done under it.
 */
function isNotToBeHad(error: unknown): boolean {
  const reason = holdfastError(error)?.reason;
  return reason === 'CONTENDED' || reason === 'REQUEST_FINISHED';
}

function optionsFor(waitMs: number): Partial<CallOptions> {
  return { deadline: Date.now() + waitMs + ANSWER_MS };
}

function answered<T>(start: (done: (error: ServiceError | null, value: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    start((error, value) => (error ? reject(error) : resolve(value)));
  });
}
