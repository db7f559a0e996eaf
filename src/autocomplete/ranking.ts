import type { MatchKind, Profile } from './suggestion';

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
