import type { DictionaryView, Entry, ListedEntry, MatchKind, Profile } from './suggestion';

/** A dictionary's profile, and the version of the rules that folded the dictionary's texts. */
export interface StoredProfile extends Profile {
  readonly foldVersion: number;
}

/** An entry with its folded texts, packed by `packForms` of match.ts for one profile. */
export interface FoldedEntry extends Entry {
  readonly folded: string;
}

/** A text folded with accents kept, and with accents dropped. The dictionary's profile selects one of the two forms. */
export interface BothFolded {
  readonly kept: string;
  readonly dropped: string;
}

/** The position at which a page of suggestions ended. */
export interface RankPosition {
  readonly kind: MatchKind;
  readonly at:
    | /** Before all entries of the kind. */ 'first'
    | /** After an entry; `text` is folded. */ {
        readonly score: number;
        readonly text: string;
        readonly entryId: string;
      }
    | /** After a record, and after the last entry of an earlier page. Only the store reads these texts. */ {
        readonly record: string;
        readonly past: string;
      };
}

export interface RankedEntry {
  readonly kind: MatchKind;
  readonly score: number;
  readonly entryId: string;
  readonly text: string;
  readonly payload: Uint8Array;
}

export interface Ranking {
  readonly profile: StoredProfile;
  readonly entries: readonly RankedEntry[];
  /** The position for the next page. Undefined: this is the last page. */
  readonly next: RankPosition | undefined;
  /** True: the store reached its bound of work before the ranking was complete. */
  readonly partial: boolean;
}

export interface RankingRequest {
  readonly query: BothFolded;
  /** The wanted kinds; empty: all kinds. */
  readonly kinds: readonly MatchKind[];
  readonly limit: number;
  readonly after: RankPosition | undefined;
}

/** A position in the order of folded texts. */
export interface ListPosition {
  readonly text: string;
  readonly number: number;
}

export interface ListingRequest {
  readonly from: BothFolded;
  readonly to: BothFolded;
  readonly limit: number;
  readonly after: ListPosition | undefined;
}

export interface Listing {
  readonly entries: readonly ListedEntry[];
  readonly next: ListPosition | undefined;
}

export interface UnknownDictionary {
  readonly kind: 'unknown';
}

/** The dictionary exists with another profile. */
export interface OtherProfile {
  readonly kind: 'other-profile';
  readonly profile: StoredProfile;
}

/** The import has ended: another import was committed, or the import expired, or the store lost its data. */
export interface LostImport {
  readonly kind: 'lost';
}

/**
 * The port to the store's dictionaries. A large change takes several bounded steps. Each entry changes atomically. The
 * next command on the dictionary finishes the unfinished steps of a dead server. Every method rejects with a
 * `StoreFailure` if the store did not answer. Every method except `select` may be repeated.
 */
export interface DictionaryStore {
  create(name: string, profile: StoredProfile): Promise<{ readonly kind: 'ok' } | OtherProfile>;
  inspect(name: string): Promise<StoredView | UnknownDictionary>;
  /** If several entries have the same id, the last entry is stored. */
  put(
    name: string,
    profile: StoredProfile,
    entries: readonly FoldedEntry[],
  ): Promise<{ readonly kind: 'ok' } | UnknownDictionary | OtherProfile>;
  /** Resolves to the number of deleted entries. */
  delete(
    name: string,
    entryIds: readonly string[],
  ): Promise<{ readonly kind: 'ok'; readonly deleted: number } | UnknownDictionary>;
  /** The command is never sent twice, even if its connection breaks. Resolves to the new count; undefined: no entry. */
  select(
    name: string,
    entryId: string,
    count: number,
  ): Promise<{ readonly kind: 'ok'; readonly count: number | undefined } | UnknownDictionary>;
  /** If `profile` is undefined, the dictionary's profile is used, or `defaultProfile` for a new dictionary. */
  startImport(
    name: string,
    importId: string,
    profile: StoredProfile | undefined,
    defaultProfile: StoredProfile,
  ): Promise<
    { readonly kind: 'ok'; readonly profile: StoredProfile } | OtherProfile | { readonly kind: 'busy' }
  >;
  putImported(
    name: string,
    importId: string,
    profile: StoredProfile,
    entries: readonly FoldedEntry[],
  ): Promise<{ readonly kind: 'ok' } | LostImport>;
  commitImport(name: string, importId: string): Promise<{ readonly kind: 'ok' } | LostImport>;
  abandonImport(name: string, importId: string): Promise<void>;
  /** Deletes the dictionary. False: the dictionary did not exist. */
  drop(name: string): Promise<boolean>;
  /**
   * One bounded step of clean-up. 'more': another step is needed. 'building': an import is in progress. 'clean': no
   * work is left. 'gone': the dictionary does not exist any more.
   */
  sweep(name: string): Promise<'more' | 'building' | 'clean' | 'gone'>;

  suggest(
    name: string,
    request: RankingRequest,
  ): Promise<({ readonly kind: 'ok' } & Ranking) | UnknownDictionary>;
  list(
    name: string,
    request: ListingRequest,
  ): Promise<({ readonly kind: 'ok' } & Listing) | UnknownDictionary>;

  /** Adds the name to the list of dictionaries. */
  register(name: string): Promise<void>;
  unregister(name: string): Promise<void>;
  /** The registered names with this prefix, after the name `after`, in byte order. Such a dictionary may not exist. */
  names(prefix: string, after: string | undefined, limit: number): Promise<readonly string[]>;
}

export interface StoredView extends Omit<DictionaryView, 'name' | 'profile' | 'foldVersion'> {
  readonly kind: 'ok';
  readonly profile: StoredProfile;
}
