/**
 * The types of the objects that the client gives. They have public members only, so a test can pass a plain object as a
 * double.
 */
import type { DictionaryClient } from './autocomplete/dictionary';
import type { RecentsClient } from './autocomplete/recents';
import type { TypeAheadClient } from './autocomplete/type-ahead';
import type { ElectionClient } from './election';
import type { HoldfastClient } from './holdfast';
import type { Lease as HeldLease } from './sessions/lease';

/** A client of the servers of one store. `connect` makes the client. Close it before the process ends. */
export type Holdfast = Pick<HoldfastClient, keyof HoldfastClient>;

/** A held lock, or held permits. */
export type Lease = Pick<HeldLease, keyof HeldLease>;

/** The work under a lease. */
export type Body<T> = (lease: Lease) => Promise<T> | T;

/** An election: the holder of the lock with this name is the leader. */
export type Election = Pick<ElectionClient, keyof ElectionClient>;

/** The lease of a leader. `updateMetadata` keeps the leader's value. */
export interface LeaderLease extends Lease {
  /** Shows another value to all observers. Keeps the other metadata. Rejects as `updateMetadata` does. */
  updateValue(value: string): Promise<void>;
}

/** The latest choices of one user. */
export type Recents = Pick<RecentsClient, keyof RecentsClient>;

/** A set of entries that all callers share. */
export type Dictionary = Pick<DictionaryClient, keyof DictionaryClient>;

/** Suggestions for an input field. */
export type TypeAhead = Pick<TypeAheadClient, keyof TypeAheadClient>;
