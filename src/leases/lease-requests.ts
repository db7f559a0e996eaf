import type { HoldfastError } from '../base/errors';
import type { HoldEvent, LossCause, Mode, ResourceView } from './lease';
import type { LeaseId } from './lease-id';
import type { RevokeTarget } from './lease-store';

/** The request of an acquire. The service has checked its fields. */
export interface AcquireRequest {
  readonly name: string;
  /** A lower-case UUID v4 or v7. Undefined: the server makes an id. */
  readonly requestId: string | undefined;
  readonly mode: Mode;
  readonly permitCount: number;
  readonly holderId: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly ttlMs: number;
  /** Undefined: wait for as long as the call's deadline allows. 0: try once. */
  readonly waitTimeoutMs: number | undefined;
  /** The limit of a semaphore that does not exist yet. Undefined: the semaphore must exist. Unused for locks. */
  readonly initialLimit: number | undefined;
}

export type HoldStart =
  | { readonly kind: 'acquire'; readonly request: AcquireRequest & { readonly requestId: string } }
  | { readonly kind: 'attach'; readonly leaseId: string };

/**
 * Receives the events of a hold stream. `send` never blocks. If the client reads slowly, the service drops events
 * that a newer event of the same kind replaces, and keeps the order.
 */
export interface HoldSink {
  send(event: HoldEvent): void;
}

/** A lease that this server renews, for the owner of the lease. */
export interface OwnedLease {
  readonly id: LeaseId;
  /** No client believes in the lease after this time (ms). */
  readonly lastEnd: number;
  /**
   * The client is gone. The client's work may still run, so the lease is no longer renewed, and continues to its end.
   */
  abandon(): void;
  /** The client may no longer hold the lease. The lease is not renewed, and its permits stay taken to its end. */
  revokeHeld(): void;
}

/** The holder of a lease on this server: a hold stream, or a command of a session. */
export interface LeaseOwner extends HoldSink {
  /** Called once, after `granted`. */
  hold(lease: OwnedLease): void;
  /** Called once after `hold`: the lease is no longer held. Undefined: the lease was released or abandoned. */
  end(error: HoldfastError | undefined): void;
}

/**
 * Receives the states of a watched resource. `send` never blocks. If the client reads slowly, the service drops states
 * that a newer state replaces. All streams of a resource get the same view object.
 */
export interface WatchSink {
  send(view: ResourceView): void;
}

export interface Renewal {
  /** Undefined: the ttl of the lease. */
  readonly ttlMs: number | undefined;
  /** The new metadata of the holder, as a whole. Undefined: the metadata stays. */
  readonly metadata: Readonly<Record<string, string>> | undefined;
}

/** The request of a list. The service has checked its fields, except the page token. */
export interface ListRequest {
  /** Only names that begin with this text. Empty: all names. */
  readonly namePrefix: string;
  /** Only resources that show a holder or a waiter of this label. Empty: all. */
  readonly holderId: string;
  /** Only resources that show a holder or a waiter of this proven identity. Empty: all. */
  readonly identity: string;
  /** The largest number of resources on the page. */
  readonly pageSize: number;
  /** The `nextPageToken` of the previous page. Empty: the first page. */
  readonly pageToken: string;
  /** 'waiter-count': the names with the most waiters first, on one page. */
  readonly order: 'fixed' | 'waiter-count';
}

export interface ResourcePage {
  readonly resources: readonly ResourceView[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
  /** True: there are more names than a list by waiters compares. */
  readonly sampled: boolean;
}

export interface ReleaseResult {
  /** True: this release, or an earlier try of this release, ended the lease. */
  readonly released: boolean;
  /** The cause of the lease's end before the release. Undefined: unknown, or the lease was released. */
  readonly lossCause: LossCause | undefined;
}

export interface RevokeRequest {
  readonly name: string;
  readonly target: RevokeTarget;
  readonly force: boolean;
}

export interface RevokeResult {
  readonly revokedCount: number;
  /** The latest end of the revoked leases, by the store's clock (ms). Undefined: none of them keeps permits. */
  readonly freeTimeMs: number | undefined;
}
