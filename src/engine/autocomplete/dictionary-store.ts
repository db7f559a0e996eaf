import type { DictionaryView, Entry, ListedEntry, MatchKind, Profile } from './suggestion';

/** A profile as a dictionary keeps it: with the version of the folding its texts were put in with. */
export interface StoredProfile extends Profile {
  readonly foldVersion: number;
}

/** An entry with its folded texts, packed and marked as match.ts does it; made for one profile. */
export interface FoldedEntry extends Entry {
  readonly folded: string;
}

/** The same text, folded both ways: the dictionary's profile says which one counts. */
export interface BothFolded {
  readonly kept: string;
  readonly dropped: string;
}

/** Where a page ended, for what comes after it. */
export interface RankPosition {
  readonly kind: MatchKind;
  readonly at:
    | /** Before all of the kind. */ 'first'
    | /** After an entry, whose text is folded. */ {
        readonly score: number;
        readonly text: string;
        readonly entryId: string;
      }
    | /** After a record, and past an entry that an earlier page ended with; the store's own words. */ {
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
  /** Undefined: that was all. */
  readonly next: RankPosition | undefined;
  /** The bound of the work cut it short. */
  readonly cut: boolean;
}

export interface RankingRequest {
  readonly query: BothFolded;
  /** All if empty. */
  readonly kinds: readonly MatchKind[];
  readonly limit: number;
  readonly after: RankPosition | undefined;
}

/** A place in the order of folded texts. */
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

/** There is one with this other profile. */
export interface OtherProfile {
  readonly kind: 'other-profile';
  readonly profile: StoredProfile;
}

/** No such import: another one was committed, or it was given up, or the store has forgotten it. */
export interface LostImport {
  readonly kind: 'lost';
}

/**
 * The port to the store's dictionaries. What changes entries takes as many bounded steps as it needs; each entry
 * changes at one stroke, and what a server leaves unfinished is finished by whoever comes next. Each method but
 * `select` may be repeated, and rejects with a `StoreFailure` when it was not answered.
 */
export interface DictionaryStore {
  create(name: string, profile: StoredProfile): Promise<{ readonly kind: 'ok' } | OtherProfile>;
  inspect(name: string): Promise<StoredView | UnknownDictionary>;
  /** Of entries with one id the last one counts. */
  put(
    name: string,
    profile: StoredProfile,
    entries: readonly FoldedEntry[],
  ): Promise<{ readonly kind: 'ok' } | UnknownDictionary | OtherProfile>;
  /** Resolves to how many of them there were. */
  delete(
    name: string,
    entryIds: readonly string[],
  ): Promise<{ readonly kind: 'ok'; readonly deleted: number } | UnknownDictionary>;
  /** Is not sent again when its connection breaks. Resolves to the new count; undefined: no such entry. */
  select(
    name: string,
    entryId: string,
    count: number,
  ): Promise<{ readonly kind: 'ok'; readonly count: number | undefined } | UnknownDictionary>;
  /** Undefined profile: the dictionary's own, or `usual` if there is none. */
  startImport(
    name: string,
    importId: string,
    profile: StoredProfile | undefined,
    usual: StoredProfile,
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
  /** False: there was none. */
  drop(name: string): Promise<boolean>;
  /** One step of what is left to do. 'more': at once again; 'building': an import is under way; 'gone': nothing left. */
  sweep(name: string): Promise<'more' | 'building' | 'clean' | 'gone'>;

  suggest(
    name: string,
    request: RankingRequest,
  ): Promise<({ readonly kind: 'ok' } & Ranking) | UnknownDictionary>;
  list(
    name: string,
    request: ListingRequest,
  ): Promise<({ readonly kind: 'ok' } & Listing) | UnknownDictionary>;

  /** Notes a name where `names` finds it. */
  register(name: string): Promise<void>;
  unregister(name: string): Promise<void>;
  /** Those with this beginning, after this one, in the order of their bytes. A name there may be of no dictionary. */
  names(prefix: string, after: string | undefined, limit: number): Promise<readonly string[]>;
}

export interface StoredView extends Omit<DictionaryView, 'name' | 'profile' | 'foldVersion'> {
  readonly kind: 'ok';
  readonly profile: StoredProfile;
}
