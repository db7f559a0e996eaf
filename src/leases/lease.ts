/**
 * The clocks of a client, a server and the store may differ in rate by this much (500 ppm). On a worse clock, or on a
 * suspended host, only the fencing token protects.
 */
const DRIFT = 0.0005;

/** The end of a lease, as a reply of the store has confirmed the end. */
export interface LeaseEnd {
  /** Monotonic time just before the command of the reply was sent (ms). */
  readonly sentAt: number;
  /** The store counts this time from a time after `sentAt` (ms). */
  readonly remainingMs: number;
}

/**
 * The `expire_offset` of a lease (ms), counted from a time at which the server received a message of the client: a call,
 * or a heartbeat of a session. The message may be older or newer than the command. DRIFT shortens the offset, so
 * `receivedAt` plus the offset is never later than the end of the lease. See docs/design/leases.md, rule 1.
 */
export function expireOffsetMs(receivedAt: number, { sentAt, remainingMs }: LeaseEnd): number {
  const lead = sentAt - receivedAt;
  return lead * (lead < 0 ? 1 + DRIFT : 1 - DRIFT) + remainingMs * (1 - DRIFT);
}

/**
 * The earliest possible end of the lease on this server's clock. The holder's client counts with its own clock, so the
 * client may believe in the lease for longer, until `latestEnd` at most.
 */
export function confirmedEnd({ sentAt, remainingMs }: LeaseEnd): number {
  return sentAt + remainingMs * (1 - DRIFT);
}

/**
 * The latest possible end of the lease on this server's clock. `repliedAt`: when the store's reply arrived. The store
 * has counted `remainingMs` from an earlier time, so the lease has ended in the store by then, and no client believes
 * in the lease: not even a client with a slower clock, or with a later answer to another call.
 */
export function latestEnd(repliedAt: number, remainingMs: number): number {
  return repliedAt + remainingMs * (1 + DRIFT);
}

/** Whether the offset of a lease, counted from the time `from`, has passed. Such a lease must not be reported any more. */
export function hasOffsetPassed(from: number, end: LeaseEnd, now: number): boolean {
  return from + expireOffsetMs(from, end) <= now;
}

/** The terms of the engine: leases, holders, waiters and the events of a hold stream. */

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
 * The cause of a loss in metrics, for the operator. `client-silent`: the lease has expired because the client of its
 * session sent no heartbeat, and before the session ended for this silence.
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

/**
 * A holder or waiter without the fields that its service hides. A lock hides its permit count: an exclusive holder
 * takes LOCK_LIMIT permits. A semaphore hides its mode.
 */
export function shownToClients<T extends HolderView | WaiterView>(service: Service, view: T): T {
  return service === 'lock' ? { ...view, permitCount: 1 } : { ...view, mode: undefined };
}

export function resourceShownToClients(service: Service, view: ResourceView): ResourceView {
  return {
    ...view,
    holders: view.holders.map((holder) => shownToClients(service, holder)),
    waiters: view.waiters.map((waiter) => shownToClients(service, waiter)),
  };
}

/** The bounds of one engine of leases. */
export interface Limits {
  readonly minTtlMs: number;
  readonly maxTtlMs: number;
  readonly defaultTtlMs: number;
  /**
   * The age limit of streams and waits, so that clock drift does not add up. At this age a stream renews once more,
   * then ends with REATTACH.
   */
  readonly maxStreamAgeMs: number;
  readonly maxWaitersPerName: number;
  /** If a client cancels more calls at the same time, gRPC may end the connection and so all its hold streams. */
  readonly maxWaitingCallsPerConnection: number;
  /** The most hold streams, and the most watch streams. An open stream costs about 20 kB of memory. */
  readonly maxStreams: number;
}

export const defaultLimits: Limits = {
  minTtlMs: 100,
  maxTtlMs: 120_000,
  defaultTtlMs: 30_000,
  maxStreamAgeMs: 3_600_000,
  maxWaitersPerName: 10_000,
  maxWaitingCallsPerConnection: 500,
  maxStreams: 50_000,
};

export const MAX_HOLDER_ID_BYTES = 256;
export const MAX_METADATA_PAIRS = 16;
export const MAX_METADATA_BYTES = 4096;
export const MAX_LEASE_ID_CHARS = 1024;

/** The largest limit of a semaphore, and the largest permit_count: both are int32 in the contract. */
export const MAX_LIMIT = 2 ** 31 - 1;

/** A lock is a semaphore with this limit: an exclusive holder takes all permits, a shared holder takes 1. */
export const LOCK_LIMIT = MAX_LIMIT;
