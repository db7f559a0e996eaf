/**
 * The entries of a part of a dictionary, in the order of rank: score from high to low, then folded text, then entry id,
 * both by the bytes of UTF-8. The rank of an entry is its place in this order, from 0. A table never changes.
 */
export interface EntryTable {
  /** The number of entries. */
  readonly count: number;
  /**
   * The folded forms of all entries, in the order of rank: first the form of the entry's text, then the forms of its
   * aliases. A zero byte ends each form, and no form contains a zero byte. Only the form of a text may be empty. An
   * entry has no form twice. So a lower position in `forms` always belongs to an equal or better rank.
   */
  readonly forms: Uint8Array;
  /** The position of each entry's first form, by rank. One more element is the number of bytes in `forms`. */
  readonly formsAt: Uint32Array;
  /** Weight plus selections of each entry, by rank. */
  readonly scores: Float64Array;
  /** The packed entries, in the order of rank (packed-entry.ts). */
  readonly entries: Uint8Array;
  /** The position of each packed entry in `entries`, by rank. */
  readonly entryAt: Uint32Array;
  /** Hash table from entry ids to ranks (id-table.ts): 0 for a free place, or rank + 1. */
  readonly ids: Uint32Array;
  /**
   * The seed of the hash table. A caller does not know the seed, and so cannot choose ids that collide in the table.
   */
  readonly idSeed: number;
}

/**
 * Some positions in `forms`, sorted by the bytes from there to the end of the form, and equal bytes by position. So all
 * positions at which a form continues with a query are one interval.
 */
export interface SortedPositions {
  readonly positions: Uint32Array;
  /** The minima of neighbouring positions, for the lowest position of an interval. The first level is `positions`. */
  readonly minima: readonly Uint32Array[];
}

/** An entry table with sorted positions. Every character of every form is in exactly one of the three lists. */
export interface SuffixIndex extends EntryTable {
  /** The beginnings of all forms, also of empty forms. */
  readonly beginnings: SortedPositions;
  /** The beginnings of words that are not at the beginning of a form (match.ts says where a word begins). */
  readonly wordStarts: SortedPositions;
  /** All other characters. */
  readonly otherStarts: SortedPositions;
  /** The branch that begins with each element of `beginnings` (branches.ts). */
  readonly branches: Uint32Array;
}

/** A part of a dictionary that can be searched. Small parts have no sorted positions. */
export type Layer = EntryTable | SuffixIndex;

export function isSuffixIndex(layer: Layer): layer is SuffixIndex {
  return 'beginnings' in layer;
}
