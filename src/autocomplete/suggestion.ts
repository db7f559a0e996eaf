import type { PageSizes } from '../base/names';

/** The terms of autocomplete: entries, recents, suggestions, imports. */

/** The kinds of matches between a text and a query, the best kind first. */
export const MATCH_KINDS = ['exact', 'prefix', 'word-prefix', 'suffix', 'contains', 'typo'] as const;
export type MatchKind = (typeof MATCH_KINDS)[number];

/** The settings of a dictionary, fixed at its creation. */
export interface Profile {
  /** With 'dropped', `resume` finds `résumé`, and `résumé` finds `resume`. */
  readonly accents: 'kept' | 'dropped';
  /** True: queries with typos (edit distance 1 or 2) find entries. */
  readonly typos: boolean;
}

export interface Entry {
  readonly entryId: string;
  readonly text: string;
  readonly aliases: readonly string[];
  /** The weight in the order of suggestions: 0 to 2^52. */
  readonly weight: number;
  readonly payload: Uint8Array;
}

/** An entry as the store keeps it. Only the engine reads a record (record.ts). */
export interface StoredEntry {
  readonly entryId: string;
  readonly record: Uint8Array;
}

/** An entry of ListEntries. */
export interface ListedEntry extends Entry {
  readonly selectionCount: number;
}

/** A part of a text. The segments of a text concatenate to the text. */
export interface Segment {
  readonly text: string;
  readonly matched: boolean;
}

export interface Suggestion {
  /** The id of the suggested entry or recent. Empty: the suggestion is a recent without an entry id. */
  readonly entryId: string;
  readonly text: string;
  readonly segments: readonly Segment[];
  readonly payload: Uint8Array;
  readonly kind: MatchKind;
  /** Weight + selections, below 2^53. 0 for a recent that is not among the dictionary's ranked entries. */
  readonly score: number;
  /** The suggestion comes from the caller's recents. */
  readonly recent: boolean;
}

export interface Recent {
  readonly text: string;
  /** The id that the caller gave to the recent. Empty: the recent has no entry id. */
  readonly entryId: string;
  readonly payload: Uint8Array;
}

export interface RecentsQuery {
  readonly query: string;
  readonly pageSize: number;
  /** The wanted kinds; empty: all kinds. */
  readonly kinds: readonly MatchKind[];
}

export interface SuggestRequest extends RecentsQuery {
  readonly dictionary: string;
  /** The `nextPageToken` of the previous page. Empty: the first page. */
  readonly pageToken: string;
  /** The name of the list of recents to include. Empty: the page contains no recents. */
  readonly recentsList: string;
  readonly asked: AskedView;
}

/** How a query wants the entries of its dictionary. */
export interface AskedView {
  /** How old the entries may be (ms); 0: with every change that ended before the query. */
  readonly maxStalenessMs: number;
  /** How long the query can wait while the dictionary is loaded (ms). */
  readonly patienceMs: number;
  /** The queries of one caller wait behind each other for long searches. */
  readonly caller: object | undefined;
}

export interface SuggestPage {
  readonly suggestions: readonly Suggestion[];
  /** The token with which the caller asks for the next page. Empty: this is the last page. */
  readonly nextPageToken: string;
}

export interface ImportView {
  /** Start of the import by the store's clock (ms since 1970), for display only. */
  readonly startTimeMs: number;
  /** Entries received so far. */
  readonly receivedCount: number;
}

/** Whether this server has the index of a dictionary in its memory. 'failed': the last load failed. */
export type LoadState = 'not-loaded' | 'loading' | 'ready' | 'failed';

/** The index of a dictionary in this server. */
export interface IndexState {
  readonly loadState: LoadState;
  /** The memory of the index (bytes); 0 without an index. */
  readonly memoryBytes: number;
}

export interface DictionaryView {
  readonly name: string;
  readonly profile: Profile;
  readonly entryCount: number;
  /** Estimated memory in the store (bytes), with open imports and replaced generations that are not removed yet. */
  readonly memoryBytes: number;
  /** The part of `memoryBytes` that the latest changes take. */
  readonly feedBytes: number;
  readonly index: IndexState;
  /** 1 for a new dictionary. Each committed import adds 1. */
  readonly generation: number;
  readonly imports: readonly ImportView[];
}

export interface ListRange {
  readonly dictionary: string;
  /** Inclusive lower bound of the folded text; empty: from the first entry. */
  readonly from: string;
  /** Exclusive upper bound of the folded text; empty: to the last entry. */
  readonly to: string;
  readonly pageSize: number;
  readonly pageToken: string;
  readonly asked: AskedView;
}

export interface EntriesPage {
  readonly entries: readonly ListedEntry[];
  readonly nextPageToken: string;
}

export interface DictionariesPage {
  readonly dictionaries: readonly DictionaryView[];
  readonly nextPageToken: string;
}

/** An import in progress. The caller puts batches, and must end the import with `commit` or `abandon`. */
export interface ImportSession {
  /** Resolves when the entries are in the store. Rejects with IMPORT_CONFLICT if another import has won. */
  put(entries: readonly StoredEntry[]): Promise<void>;
  /**
   * Replaces the dictionary's entries with the imported entries. Rejects with INVALID_FIELD if `entryCount` differs
   * from the number of entries in all batches. The import ends in both cases.
   */
  commit(entryCount: number): Promise<DictionaryView>;
  /** Leaves the dictionary unchanged, and removes the imported entries. Never rejects. */
  abandon(): Promise<void>;
}

/** The contract's bounds for autocomplete. Names of lists and dictionaries have the bounds of all names. */

/** Bound of a text, an alias or a query, in bytes of UTF-8. */
export const MAX_TEXT_BYTES = 512;
/** Bound of a folded text or alias, in bytes of UTF-8. A few characters fold to up to 18 characters. */
export const MAX_FOLDED_BYTES = 2048;
export const MAX_ENTRY_ID_BYTES = 512;
export const MAX_ALIASES = 16;
export const MAX_PAYLOAD_BYTES = 1024;
/** Keeps the sum of weight and selections below 2^53. Larger numbers are not exact in JavaScript and Lua. */
export const MAX_WEIGHT = 2 ** 52;
/** Bound of the entries in one put, one deletion or one import batch. */
export const MAX_ENTRIES = 1000;
/** The longest `max_staleness` of a query (ms). */
export const MAX_STALENESS_MS = 3_600_000;
/** How long a query of a SuggestStream waits while its dictionary is loaded (ms). */
export const STREAM_PATIENCE_MS = 5000;

/** Bound of the selections in one RecordSelection. */
export const MAX_SELECTIONS = 1_000_000;

export const DEFAULT_CAPACITY = 100;
export const MAX_CAPACITY = 1000;

export const SUGGESTION_PAGES: PageSizes = { defaultSize: 10, maxSize: 100 };

export const DEFAULT_PROFILE: Profile = { accents: 'kept', typos: true };

/** The bounds of one server. */
export interface AutocompleteLimits {
  /** An open stream costs about 20 kB of memory, even if the stream is idle. */
  readonly maxSuggestStreams: number;
  /** An import keeps up to two batches of 4 MiB in memory, and the store keeps the old and the new dictionary. */
  readonly maxImports: number;
  /** The server ends an import if the client sends no message for this time. */
  readonly maxImportIdleMs: number;
}

export const defaultAutocompleteLimits: AutocompleteLimits = {
  maxSuggestStreams: 10_000,
  maxImports: 16,
  maxImportIdleMs: 120_000,
};

/** A place in the order of suggestions of a query. */
export interface RankPosition {
  readonly kind: MatchKind;
  readonly at:
    | /** Before all entries of the kind. */ 'first'
    | /** After an entry. */ {
        readonly score: number;
        /** The folded text of the entry. */
        readonly text: string;
        readonly entryId: string;
      };
}

/** An entry among the suggestions of a query. */
export interface RankedEntry {
  readonly kind: MatchKind;
  /** Weight plus selections. */
  readonly score: number;
  readonly entryId: string;
  readonly text: string;
  readonly foldedText: string;
  readonly payload: Uint8Array;
}

/** Entries of a dictionary in the order of suggestions. */
export interface Ranking {
  readonly profile: Profile;
  readonly entries: readonly RankedEntry[];
  /** Where the next page begins. Undefined: no entry follows. */
  readonly next: RankPosition | undefined;
}

/** A place in the order of ListEntries: after the entry with this folded text and id. */
export interface ListPosition {
  readonly text: string;
  readonly entryId: string;
}

export interface RankingRequest {
  /** Not folded. */
  readonly query: string;
  /** The wanted kinds; empty: all kinds. */
  readonly kinds: readonly MatchKind[];
  readonly limit: number;
  readonly after: RankPosition | undefined;
}

export interface ListingRequest {
  /** Inclusive lower bound of the folded text, not folded; empty: no bound. */
  readonly from: string;
  /** Exclusive upper bound of the folded text, not folded; empty: no bound. */
  readonly to: string;
  readonly limit: number;
  readonly after: ListPosition | undefined;
}

export interface Listing {
  readonly entries: readonly ListedEntry[];
  /** Undefined: no entry follows. */
  readonly next: ListPosition | undefined;
}

/**
 * The indexes of dictionaries in this server. Each query loads its dictionary if necessary, and then answers from an
 * index that is as current as the query asks. The queries reject with the caller's error.
 */
export interface DictionaryIndexes {
  rank(dictionary: string, request: RankingRequest, asked: AskedView): Promise<Ranking>;
  list(dictionary: string, request: ListingRequest, asked: AskedView): Promise<Listing>;
  stateOf(dictionary: string): IndexState;
  /**
   * Resolves when this server answers from the live generation. Rejects with the caller's error, also if the load takes
   * longer than `patienceMs`.
   */
  load(dictionary: string, patienceMs: number): Promise<void>;
  /** Frees the index of a deleted dictionary. */
  forget(dictionary: string): void;
}
