/** The terms of the permits engine: leases, holders, waiters and the events of a hold stream. */
import type { LeaseEnd } from './expire-offset';

/** Locks and semaphores share one engine. Names of different services never collide. */
export type Service = 'lock' | 'semaphore';

export interface Resource {
  readonly service: Service;
  readonly name: string;
}

/** The mode of a lock. The store records 'exclusive' for the permits of a semaphore, and responses hide this mode. */
export type Mode = 'exclusive' | 'shared';

export type LossCause = 'expired' | 'revoked' | 'store-reset' | 'store-unavailable';

/**
 * The cause of a loss in metrics, for the operator. `client-silent`: the lease has expired because its client sent no
 * heartbeat.
 */
export type CountedLoss = LossCause | 'client-silent';

/** A time-bounded grant, as the caller of one call sees it. */
export interface Lease {
  readonly leaseId: string;
  readonly name: string;
  readonly requestId: string;
  readonly fencingToken: bigint;
  readonly permitCount: number;
  readonly ttlMs: number;
  readonly end: LeaseEnd;
}

/** A holder as other clients see it. These fields give no authority over the lease. */
export interface HolderView {
  readonly holderId: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly fencingToken: bigint;
  readonly permitCount: number;
  /** The mode of the lock. Undefined for a semaphore. */
  readonly mode: Mode | undefined;
  /** Time of the store's clock in ms since 1970, for display only. */
  readonly acquireTimeMs: number;
  /** Time of the store's clock in ms since 1970, for display only. */
  readonly expireTimeMs: number;
  readonly revoked: boolean;
  /** The identity that the holder has proven. Empty: none. */
  readonly identity: string;
}

export interface WaiterView {
  readonly holderId: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly permitCount: number;
  /** The mode of the lock. Undefined for a semaphore. */
  readonly mode: Mode | undefined;
  /** The head of the queue has position 1. */
  readonly position: number;
  /** Time of the store's clock in ms since 1970, for display only. */
  readonly enqueueTimeMs: number;
  /** The identity that the waiter has proven. Empty: none. */
  readonly identity: string;
}

export interface ResourceView {
  readonly name: string;
  readonly limit: number | undefined;
  /** The limit that comes back when the pause of a semaphore ends. Undefined: no pause keeps a limit. */
  readonly keptLimit: number | undefined;
  readonly usedCount: number;
  readonly lastFencingToken: bigint;
  readonly holderCount: number;
  readonly waiterCount: number;
  /** At most 16 holders. */
  readonly holders: readonly HolderView[];
  /** The first 16 waiters of the queue. */
  readonly waiters: readonly WaiterView[];
}

/** The events of a hold stream, in the order in which they occur. */
export type HoldEvent =
  | {
      readonly kind: 'queued';
      readonly requestId: string;
      readonly position: number;
      readonly waiterCount: number;
      /** The holder that blocks the queue. Undefined: the lock or semaphore has no holder. */
      readonly holder: HolderView | undefined;
    }
  | { readonly kind: 'granted'; readonly lease: Lease }
  /** `newTtlMs`: undefined if the ttl has not changed. */
  | { readonly kind: 'renewed'; readonly end: LeaseEnd; readonly newTtlMs?: number | undefined }
  | { readonly kind: 'renewal-failed'; readonly end: LeaseEnd; readonly cause: LossCause }
  | { readonly kind: 'released' }
  | { readonly kind: 'lost'; readonly cause: LossCause };

/** Identifies a resource in a map. */
export function resourceKey(resource: Resource): string {
  return `${resource.service}:${resource.name}`;
}

/** Identifies a request in a map. */
export function requestKey(resource: Resource, requestId: string): string {
  return `${requestId}${resource.service}:${resource.name}`;
}
