/** The words of the permits engine: what a lease is, and what callers are told about it. */

/** Locks and semaphores live in one engine; names of different services never meet. */
export type Service = 'lock' | 'semaphore';

export interface Resource {
  readonly service: Service;
  readonly name: string;
}

/** How a lock is held. In the store a semaphore's permits are 'exclusive', of which nobody is told. */
export type Mode = 'exclusive' | 'shared';

/** The causes of a loss, as far as they are known. */
export type LossCause = 'expired' | 'revoked' | 'store-reset' | 'store-unavailable';

/** A time-bounded grant, as it is handed to the caller of one call. */
export interface Lease {
  readonly leaseId: string;
  readonly name: string;
  readonly requestId: string;
  readonly fencingToken: bigint;
  readonly permitCount: number;
  readonly ttlMs: number;
  /**
   * How long after the server received this call the lease ends, in ms; never later than the truth.
   * Computed by the rule in `expire-offset.ts`.
   */
  readonly expireOffsetMs: number;
}

/** Who holds, as shown to others: no authority in it. */
export interface HolderView {
  readonly holderId: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly fencingToken: bigint;
  readonly permitCount: number;
  /** Undefined for a semaphore. */
  readonly mode: Mode | undefined;
  /** Instants of Redis's clock in ms since 1970, for display only. */
  readonly acquireTimeMs: number;
  readonly expireTimeMs: number;
  readonly revoked: boolean;
}

export interface WaiterView {
  readonly holderId: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly permitCount: number;
  /** Undefined for a semaphore. */
  readonly mode: Mode | undefined;
  /** From 1. */
  readonly position: number;
  readonly enqueueTimeMs: number;
}

export interface ResourceView {
  readonly name: string;
  readonly limit: number | undefined;
  readonly usedCount: number;
  readonly lastFencingToken: bigint;
  readonly holderCount: number;
  readonly waiterCount: number;
  /** The first 16. */
  readonly holders: readonly HolderView[];
  readonly waiters: readonly WaiterView[];
}

/** What a hold stream tells, in the order of its life. */
export type HoldEvent =
  | {
      readonly kind: 'queued';
      readonly requestId: string;
      readonly position: number;
      readonly waiterCount: number;
      /** The holder to wait for, where there is one. */
      readonly holder: HolderView | undefined;
    }
  | { readonly kind: 'granted'; readonly lease: Lease }
  | { readonly kind: 'renewed'; readonly expireOffsetMs: number }
  | { readonly kind: 'renewal-failed'; readonly expireOffsetMs: number; readonly cause: LossCause }
  | { readonly kind: 'released' }
  | { readonly kind: 'lost'; readonly cause: LossCause };
