import type { Profile } from './suggestion';

/** The contract's bounds of what autocomplete deals in. Names of lists and dictionaries are names as any other. */

/** Of a text, an alias or a query, in UTF-8. */
export const MAX_TEXT_BYTES = 512;
/** Of a text or an alias as it is compared: a few characters fold to eighteen, most to themselves. */
export const MAX_FOLDED_BYTES = 1024;
export const MAX_ENTRY_ID_BYTES = 512;
export const MAX_ALIASES = 16;
export const MAX_PAYLOAD_BYTES = 1024;
/** So that weight and selections together stay below 2^53, where numbers are exact. */
export const MAX_WEIGHT = 2 ** 52;
/** Of one put, deletion or batch: what a script may be given at once. */
export const MAX_ENTRIES = 1000;
/** Of one RecordSelection. */
export const MAX_SELECTIONS = 1_000_000;

export const DEFAULT_CAPACITY = 100;
export const MAX_CAPACITY = 1000;

/** How many a page has by default, and at most. */
export interface PageSizes {
  readonly defaultSize: number;
  readonly maxSize: number;
}

export const SUGGESTION_PAGES: PageSizes = { defaultSize: 10, maxSize: 100 };
export const LIST_PAGES: PageSizes = { defaultSize: 50, maxSize: 500 };

export const DEFAULT_PROFILE: Profile = { accents: 'kept', typos: true };

/** How much of it one server takes on at once. */
export interface AutocompleteLimits {
  /** An open stream costs about 20 kB of memory, while nobody types too. */
  readonly maxSuggestStreams: number;
  /** Each may have a batch or two in memory, of up to 4 MiB as sent, and makes the store hold a dictionary twice. */
  readonly maxImports: number;
  /** An import of which nothing more comes must not keep its place for ever, while this server says that it lives. */
  readonly maxImportIdleMs: number;
}

export const defaultAutocompleteLimits: AutocompleteLimits = {
  maxSuggestStreams: 10_000,
  maxImports: 16,
  maxImportIdleMs: 120_000,
};
