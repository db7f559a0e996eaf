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
