import type { EntryAmount } from './quota/amount';
import type { DictionaryView, Profile, Recent, StoredEntry } from './suggestion';

/** The owner of a dictionary, and the entries that count for the owner's quota. */
export type StoredUsage =
  | {
      readonly kind: 'used';
      /** The identity that created the dictionary. Empty: nobody. */
      readonly owner: string;
      /** The live entries. A large put counts when its entries are in the buckets. */
      readonly amount: EntryAmount;
    }
  /** The dictionary does not exist. An import may create it, or the store still has keys of it. */
  | { readonly kind: 'unknown' }
  /** The store has no key of the dictionary. */
  | { readonly kind: 'gone' };

/** The port to the owners of dictionaries. The methods reject with a `StoreFailure`. */
export interface OwnershipStore {
  usage(name: string): Promise<StoredUsage>;
  /**
   * The names in the list of an owner after the name `after`, in byte order. Such a dictionary may not exist, or may have
   * another owner.
   */
  owned(owner: string, after: string | undefined, limit: number): Promise<readonly string[]>;
  registerOwned(owner: string, name: string): Promise<void>;
  unregisterOwned(owner: string, name: string): Promise<void>;
}

export type { StoredEntry } from './suggestion';

/** The state of a dictionary at one moment. */
export interface Head {
  readonly kind: 'head';
  readonly profile: Profile;
  /** The id of the live generation. No id is used twice. */
  readonly generationId: string;
  /** Rises by 1 with each write and with each commit of an import. Two histories may have the same versions. */
  readonly version: number;
  /** A digest of the ids of all writes so far. Equal tails mean equal histories. */
  readonly tail: string;
}

/** A newer server made the dictionary. */
export interface TooNew {
  readonly kind: 'too-new';
  readonly format: number;
}

/** The dictionary does not exist, or this server cannot read its format. */
export type Missing = { readonly kind: 'unknown' } | TooNew;

/** The dictionary exists with another profile. */
export interface OtherProfile {
  readonly kind: 'other-profile';
  readonly profile: Profile;
}

/** The import has ended: another import was committed, or the import expired, or the store lost its data. */
export interface LostImport {
  readonly kind: 'lost';
}

/** A change of one entry. A `put` keeps the selections of the entry, and a `delete` removes them. */
export type EntryChange =
  | { readonly kind: 'put'; readonly entryId: string; readonly record: Uint8Array }
  | { readonly kind: 'delete'; readonly entryId: string }
  /** `selectionCount` is the number of all selections after the change. */
  | { readonly kind: 'select'; readonly entryId: string; readonly selectionCount: number };

/** One write. All its changes belong to one version. */
export interface Write {
  readonly version: number;
  /** The tail before this write. */
  readonly before: string;
  /** The tail after this write. */
  readonly tail: string;
  readonly changes: readonly EntryChange[];
}

/** The writes after a version, up to the largest size of one answer. */
export interface Writes {
  readonly kind: 'writes';
  readonly writes: readonly Write[];
  /** The state of the dictionary when the writes were read. Later than the last write if not all writes fit. */
  readonly head: Head;
}

/** The store does not have the writes after this version of this history any more. */
export interface Gap {
  readonly kind: 'gap';
}

/** Some buckets of a generation. */
export interface BucketsRead {
  readonly kind: 'buckets';
  /** The version and tail at the moment of the read. The buckets contain every write up to this version. */
  readonly version: number;
  readonly tail: string;
  /** The number of buckets at the moment of the read. This number never falls. */
  readonly bucketCount: number;
  /** The next bucket to read. */
  readonly next: number;
  /** The entries of the buckets (bucket-entries.ts reads them). */
  readonly packed: Uint8Array;
}

/** The server that answers a load. */
export type LoadSource = 'replica' | 'primary';

/** Where a load begins. */
export interface LoadStart {
  readonly kind: 'start';
  readonly head: Head;
  /**
   * The version and tail from which the writes must be applied to the buckets. Earlier than the head while a large put is
   * being written to its buckets.
   */
  readonly version: number;
  readonly tail: string;
  readonly entryCount: number;
  /** The bytes of all ids and records. */
  readonly entryBytes: number;
  readonly bucketCount: number;
  /** The server that has answered. Only the primary's answer has every write that ended before. */
  readonly source: LoadSource;
  /** The first buckets, read at the same moment: the next bucket to read, and the entries as in `BucketsRead`. */
  readonly next: number;
  readonly packed: Uint8Array;
}

/**
 * The port to the entries of dictionaries. Writes are atomic: a reader sees all or none of a put. The methods reject with
 * a `StoreFailure` if the store did not answer. A repeated command of one call is carried out once.
 */
export interface EntryStore extends OwnershipStore {
  /** `owner`: the identity that owns a new dictionary. Empty: nobody. Adds the name to the list of the owner. */
  create(
    name: string,
    profile: Profile,
    owner: string,
  ): Promise<{ readonly kind: 'ok' } | OtherProfile | Missing>;
  /** Rejects with 'full' if the store has no room. If several entries have the same id, the last entry is stored. */
  put(name: string, entries: readonly StoredEntry[]): Promise<{ readonly kind: 'ok' } | Missing>;
  /** Resolves to the number of deleted entries. Not atomic: a failed call may have deleted some entries. */
  delete(
    name: string,
    entryIds: readonly string[],
  ): Promise<{ readonly kind: 'ok'; readonly deleted: number } | Missing>;
  /** Resolves to the new count; undefined: no such entry. */
  select(
    name: string,
    entryId: string,
    count: number,
  ): Promise<{ readonly kind: 'ok'; readonly count: number | undefined } | Missing>;

  head(name: string): Promise<Head | Missing>;
  /**
   * The writes after this version of a generation: the live generation, or a replaced generation that is not removed yet.
   * The first write of the live generation follows the last write of the replaced generation. So a reader that has all
   * writes of a replaced generation asks again with the id of the live generation.
   */
  writesAfter(
    name: string,
    after: { readonly generationId: string; readonly version: number; readonly tail: string },
  ): Promise<Writes | Gap | Missing>;
  /** The live generation. 'replica': a replica answers if there is one, or the primary. */
  startLoad(name: string, source: LoadSource): Promise<LoadStart | Missing>;
  /** 'gap': the generation was removed. */
  readBuckets(
    name: string,
    generationId: string,
    from: number,
    source: LoadSource,
  ): Promise<BucketsRead | Gap>;
  inspect(name: string): Promise<({ readonly kind: 'ok' } & StoredDictionary) | Missing>;

  /**
   * If `profile` is undefined, the dictionary's profile is used, or `defaultProfile` for a new dictionary. `owner`: the
   * identity that owns the dictionary if the commit of this import creates it. Empty: nobody.
   */
  startImport(
    name: string,
    importId: string,
    profile: Profile | undefined,
    defaultProfile: Profile,
    owner: string,
  ): Promise<{ readonly kind: 'ok' } | OtherProfile | { readonly kind: 'busy' } | Missing>;
  /** The batches of one import must not overlap. An empty batch is a sign of life. */
  putImported(
    name: string,
    importId: string,
    entries: readonly StoredEntry[],
  ): Promise<{ readonly kind: 'ok' } | LostImport>;
  /** Adds the name to the list of the owner. */
  commitImport(name: string, importId: string, owner: string): Promise<{ readonly kind: 'ok' } | LostImport>;
  abandonImport(name: string, importId: string): Promise<void>;

  /** Deletes the dictionary, of this or an older format. False: the dictionary did not exist. */
  drop(name: string): Promise<boolean | TooNew>;
  /**
   * One bounded step of clean-up. 'more': another step is needed. 'later': an import is in progress, or an old generation
   * is kept for a while. 'clean': no work is left. 'gone': the dictionary does not exist any more.
   */
  sweep(name: string): Promise<'more' | 'later' | 'clean' | 'gone'>;

  /** Adds the name to the list of dictionaries. */
  register(name: string): Promise<void>;
  unregister(name: string): Promise<void>;
  /** The registered names with this prefix, after the name `after`, in byte order. Such a dictionary may not exist. */
  names(prefix: string, after: string | undefined, limit: number): Promise<readonly string[]>;
}

/** The part of a dictionary's view that the store knows. */
export interface StoredDictionary extends Pick<DictionaryView, 'entryCount' | 'generation' | 'imports'> {
  readonly profile: Profile;
  /** Estimated memory in the store (bytes), with open imports and replaced generations that are not removed yet. */
  readonly memoryBytes: number;
  /** The part of `memoryBytes` that the last writes take. */
  readonly feedBytes: number;
}

/** Identifies a recent in its list by the entry id. A recent without an entry id is identified by its exact text. */
export type RecentIdentity = Pick<Recent, 'entryId' | 'text'>;

/**
 * The port to the store's lists of recents. Each method is one atomic step on one list, and rejects with a
 * `StoreFailure` if the store did not answer. A step is sent again if its connection breaks. A repeated removal has the
 * result of the first removal. A repeated `add` may move the recent in front of a newer recent, or undo a removal in
 * between.
 */
export interface RecentsStore {
  /**
   * Puts the recent in front, and removes the same recent further back. The list keeps the first `capacity` (at least
   * 1) recents, or fewer if they exceed 512 KiB: 1,000 recents of 400 bytes fit, or about 240 of the largest size.
   * Restarts the idle time after which the list expires. Fails if the store is out of memory.
   */
  add(list: string, recent: Recent, capacity: number): Promise<void>;
  /** False: the list had no such recent. Removing the last recent deletes the list. */
  remove(list: string, which: RecentIdentity): Promise<boolean>;
  /** All recents, the most recent first; empty if there is no list. Writes nothing. */
  read(list: string): Promise<readonly Recent[]>;
  /** Deletes the list. False: the list did not exist. */
  drop(list: string): Promise<boolean>;
}
