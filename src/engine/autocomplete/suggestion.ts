/** What autocomplete deals in: entries of dictionaries, recents, and what is suggested of them. */

/** How a text can answer to a query, in the order in which suggestions are ranked. */
export const MATCH_KINDS = ['exact', 'prefix', 'word-prefix', 'suffix', 'contains', 'typo'] as const;
export type MatchKind = (typeof MATCH_KINDS)[number];

/** What is fixed of a dictionary when it is created. */
export interface Profile {
  /** Dropped: `resume` finds `résumé`, and the other way round. */
  readonly accents: 'kept' | 'dropped';
  /** Whether queries with a slip of the fingers find something. */
  readonly typos: boolean;
}

export interface Entry {
  readonly entryId: string;
  readonly text: string;
  readonly aliases: readonly string[];
  /** 0 to 2^52. */
  readonly weight: number;
  readonly payload: Uint8Array;
}

/** An entry as ListEntries shows it. */
export interface ListedEntry extends Entry {
  readonly selectionCount: number;
}

/** A part of a text; the parts of a text concatenate to it. */
export interface Segment {
  readonly text: string;
  readonly matched: boolean;
}

export interface Suggestion {
  /** Empty for a recent that was added without one. */
  readonly entryId: string;
  readonly text: string;
  readonly segments: readonly Segment[];
  readonly payload: Uint8Array;
  readonly kind: MatchKind;
  /** Weight + selections, below 2^53; 0 for a recent whose entry is not among the dictionary's answers. */
  readonly score: number;
  /** It is shown for being in the caller's recents. */
  readonly recent: boolean;
}

export interface Recent {
  readonly text: string;
  /** Empty: none. */
  readonly entryId: string;
  readonly payload: Uint8Array;
}

export interface RecentsQuery {
  readonly query: string;
  readonly pageSize: number;
  /** Those wanted; all if empty. */
  readonly kinds: readonly MatchKind[];
}

export interface SuggestRequest extends RecentsQuery {
  readonly dictionary: string;
  /** Empty: from the start. */
  readonly pageToken: string;
  /** Empty: none. */
  readonly recentsList: string;
}

export interface SuggestPage {
  readonly suggestions: readonly Suggestion[];
  /** Empty: that was all. */
  readonly nextPageToken: string;
  /** A bound of the store's work cut the weakest kinds off. */
  readonly partial: boolean;
}

/** One import that is being built aside. */
export interface ImportView {
  /** When it was started, by the store's clock (ms since 1970, for display). */
  readonly startTimeMs: number;
  /** Entries received so far. */
  readonly receivedCount: number;
}

export interface DictionaryView {
  readonly name: string;
  readonly profile: Profile;
  /** Of the rules by which texts are folded: see fold.ts. */
  readonly foldVersion: number;
  readonly entryCount: number;
  /** What the store keeps of it, estimated (bytes). */
  readonly memoryBytes: number;
  /** Rises with each import that was committed; 1 to begin with. */
  readonly generation: number;
  readonly imports: readonly ImportView[];
}

export interface ListRange {
  readonly dictionary: string;
  /** Entries whose folded text is at or after this folded bound; empty: from the first. */
  readonly from: string;
  /** ... and before this one; empty: to the last. */
  readonly to: string;
  readonly pageSize: number;
  readonly pageToken: string;
}

export interface EntriesPage {
  readonly entries: readonly ListedEntry[];
  readonly nextPageToken: string;
}

export interface DictionariesPage {
  readonly dictionaries: readonly DictionaryView[];
  readonly nextPageToken: string;
}

/** An import under way: batches, and then either `commit` or `abandon`, whatever became of the batches. */
export interface ImportSession {
  /** Resolves when they are in the store. Rejects with IMPORT_CONFLICT once another import has won. */
  put(entries: readonly Entry[]): Promise<void>;
  /**
   * Swaps the new generation in if exactly so many entries were put (each entry of each batch counts), else rejects
   * with INVALID_FIELD. Either way the import is over.
   */
  commit(entryCount: number): Promise<DictionaryView>;
  /** Leaves the dictionary as it was, and what was built is cleaned up. Never rejects. */
  abandon(): Promise<void>;
}

/** Autocomplete as the transport calls it, with fields that were checked. Everything rejects with a HoldfastError. */
export interface AutocompleteEngine {
  /** In front of the list, the same one (by entry id, else by text) moves; the list keeps `capacity` of them. */
  addRecent(list: string, recent: Recent, capacity: number): Promise<void>;
  /** By its entry id if one is given, else by its text. False: there was none. */
  removeRecent(list: string, which: { readonly entryId: string; readonly text: string }): Promise<boolean>;
  suggestRecents(list: string, query: RecentsQuery): Promise<readonly Suggestion[]>;
  /** False: there was no such list. */
  deleteRecents(list: string): Promise<boolean>;

  createDictionary(name: string, profile: Profile): Promise<DictionaryView>;
  putEntries(dictionary: string, entries: readonly Entry[]): Promise<void>;
  /** Resolves to how many there were. */
  deleteEntries(dictionary: string, entryIds: readonly string[]): Promise<number>;
  /** Undefined profile: the dictionary's own, or the usual one if there is no dictionary yet. */
  startImport(dictionary: string, profile: Profile | undefined): Promise<ImportSession>;
  /** Resolves to the entry's new selection count; undefined: there is no such entry. */
  recordSelection(dictionary: string, entryId: string, count: number): Promise<number | undefined>;
  suggest(request: SuggestRequest): Promise<SuggestPage>;
  listEntries(range: ListRange): Promise<EntriesPage>;
  getDictionary(name: string): Promise<DictionaryView>;
  listDictionaries(namePrefix: string, pageSize: number, pageToken: string): Promise<DictionariesPage>;
  /** False: there was none. */
  deleteDictionary(name: string): Promise<boolean>;
}
