import type { Holdfast } from '../../../clients/typescript';
import type { Timestamp } from '../../../generated/typescript/google/protobuf/timestamp';
import type { Holder, Waiter } from '../../../generated/typescript/holdfast/v1/lease';
import type { Column } from '../table';

/** What `get`, `list` and `watch` show of a lock or a semaphore. */
export interface Resource {
  readonly name: string;
  readonly holderCount: number;
  readonly waiterCount: number;
  readonly lastFencingToken: bigint;
  readonly holders: readonly Holder[];
  readonly waiters: readonly Waiter[];
  /** Only semaphores have a limit. 0 pauses the semaphore. */
  readonly limit?: number;
  /** The limit that comes back after a pause. 0: there is none. */
  readonly keptLimit?: number;
}

export interface ListQuery {
  readonly namePrefix: string;
  readonly holderId: string;
  readonly identity: string;
  readonly pageSize: number;
  readonly pageToken: string;
  readonly byWaiterCount: boolean;
}

export interface Page<T> {
  readonly rows: readonly T[];
  readonly nextPageToken: string;
  /** Not all names were counted for this order. */
  readonly sampled: boolean;
}

/** What an operator revokes. */
export type RevokeTarget =
  | { readonly kind: 'token'; readonly fencingToken: bigint }
  | { readonly kind: 'all' }
  | { readonly kind: 'waiter'; readonly position: number; readonly enqueueTime: Timestamp };

export interface Revocation {
  readonly name: string;
  readonly target: RevokeTarget;
  readonly force: boolean;
  readonly reason: string;
}

export interface Revoked {
  /** The leases and waiters that were found. */
  readonly revokedCount: number;
  /** When the last of the revoked leases ends, on the store's wall clock. */
  readonly freeTime: Timestamp | undefined;
}

/** The calls of one kind of resource. Locks and semaphores have the same commands over different messages. */
export interface ResourceKind<T extends Resource> {
  readonly word: 'lock' | 'semaphore';
  get(hf: Holdfast, name: string): Promise<T>;
  list(hf: Holdfast, query: ListQuery): Promise<Page<T>>;
  watch(hf: Holdfast, name: string, signal: AbortSignal): AsyncIterable<T>;
  revoke(hf: Holdfast, revocation: Revocation): Promise<Revoked>;
  toJson(resource: T): unknown;
  readonly columns: readonly Column<T>[];
  /** Lines of `get` that only this kind has. */
  fields(resource: T): readonly (readonly [string, string])[];
}
