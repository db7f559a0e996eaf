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

/**
 * The dead ranks of a layer: the entries of these ranks were deleted, or a newer layer has these entries. A dead set
 * never changes. A larger set shares with the old set all pages without new ranks. The pages are not in shared memory,
 * because each write replaces some pages, and V8 collects dropped shared memory much too late. So a message to another
 * thread copies the pages: 125 KB for a million ranks.
 */
export interface DeadSet {
  /** The number of ranks in the set. */
  readonly count: number;
  /** One bit for each rank, the lowest bit of a byte first. Undefined: no rank of the page is in the set. */
  readonly pages: readonly (Uint8Array | undefined)[];
}

/** A page has 4 KiB, which is 2^15 bits. */
const RANK_BITS_IN_PAGE = 15;
const PAGE_BYTES = 2 ** RANK_BITS_IN_PAGE / 8;

export const NONE_DEAD: DeadSet = { count: 0, pages: [] };

export function isDead({ pages }: DeadSet, rank: number): boolean {
  const page = pages[rank >>> RANK_BITS_IN_PAGE];
  return page !== undefined && ((page[byteOf(rank)] as number) & bitOf(rank)) !== 0;
}

/** The set with these ranks. Returns `dead` itself if all ranks are already in the set. */
export function withDead(dead: DeadSet, ranks: Iterable<number>): DeadSet {
  const copied = new Map<number, Uint8Array>();
  let count = dead.count;
  for (const rank of ranks) {
    const index = rank >>> RANK_BITS_IN_PAGE;
    let page = copied.get(index);
    if (page === undefined) {
      if (isDead(dead, rank)) continue;
      page = copyOf(dead.pages[index]);
      copied.set(index, page);
    }
    if (((page[byteOf(rank)] as number) & bitOf(rank)) !== 0) continue;
    page[byteOf(rank)] = (page[byteOf(rank)] as number) | bitOf(rank);
    count += 1;
  }
  if (copied.size === 0) return dead;
  const pageCount = Math.max(dead.pages.length, ...[...copied.keys()].map((index) => index + 1));
  const pages = Array.from({ length: pageCount }, (_, index) => copied.get(index) ?? dead.pages[index]);
  return { count, pages };
}

function copyOf(page: Uint8Array | undefined): Uint8Array {
  const copy = new Uint8Array(PAGE_BYTES);
  if (page) copy.set(page);
  return copy;
}

function byteOf(rank: number): number {
  return (rank >>> 3) % PAGE_BYTES;
}

function bitOf(rank: number): number {
  return 1 << (rank & 7);
}
