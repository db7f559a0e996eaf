import type { Profile } from './suggestion';
import type { PageSizes } from '../base/pages';

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
