import type { Ranking, RankPosition, ListPosition } from './ranking';
import type { AskedView, IndexState, ListedEntry, MatchKind } from './suggestion';

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
