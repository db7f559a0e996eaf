import type { Profile } from './suggestion';

/** The contract's bounds for autocomplete. Names of lists and dictionaries have the bounds of all names. */

/** Bound of a text, an alias or a query, in bytes of UTF-8. */
export const MAX_TEXT_BYTES = 512;
/** Bound of a folded text or alias. Some characters fold to eighteen characters, most to themselves. */
export const MAX_FOLDED_BYTES = 1024;
export const MAX_ENTRY_ID_BYTES = 512;
export const MAX_ALIASES = 16;
export const MAX_PAYLOAD_BYTES = 1024;
/** Weight and selections together stay below 2^53, where numbers are exact. */
export const MAX_WEIGHT = 2 ** 52;
/** Bound of one put, deletion or import batch. A script takes no more at once. */
export const MAX_ENTRIES = 1000;
/** Bound of one RecordSelection. */
export const MAX_SELECTIONS = 1_000_000;

export const DEFAULT_CAPACITY = 100;
export const MAX_CAPACITY = 1000;

/** Entries of a page: by default, and at most. */
export interface PageSizes {
  readonly defaultSize: number;
  readonly maxSize: number;
}

export const SUGGESTION_PAGES: PageSizes = { defaultSize: 10, maxSize: 100 };
export const LIST_PAGES: PageSizes = { defaultSize: 50, maxSize: 500 };

export const DEFAULT_PROFILE: Profile = { accents: 'kept', typos: true };

/** Bounds of one server. */
export interface AutocompleteLimits {
  /** An open stream costs about 20 kB of memory, even while idle. */
  readonly maxSuggestStreams: number;
  /** An import has up to two batches of 4 MiB in memory, and the store holds its dictionary twice. */
  readonly maxImports: number;
  /** A silent import ends after this time. Until then, this server's heartbeats keep it alive in the store. */
  readonly maxImportIdleMs: number;
}

export const defaultAutocompleteLimits: AutocompleteLimits = {
  maxSuggestStreams: 10_000,
  maxImports: 16,
  maxImportIdleMs: 120_000,
};
