import type { Clock } from '../clock';
import type { ListedPart } from './permits-store';

/** A place in the order of a list: after this name in this bucket. An empty name: before the first name of the bucket. */
export interface ListPosition {
  readonly bucket: number;
  readonly after: string;
}

/** The most buckets that one walk looks at together. The store runs about as many reads at a time. */
const MOST_TOGETHER = 8;

export interface Walk<Item> {
  readonly clock: Clock;
  readonly bucketCount: number;
  /** Looks at some names after the position. */
  readonly look: (position: ListPosition) => Promise<ListedPart<Item>>;
  /** Takes the items in order. True: the walk ends after this item. */
  readonly take: (item: Item) => boolean;
  readonly nameOf: (item: Item) => string;
  /** Empty, or a place in each bucket before the first name that the caller may read. */
  readonly firstPlace: string;
  /** The place in a bucket at which the walk goes on after a name. Undefined: no name that the caller may read follows. */
  readonly placeAfter: (name: string) => string | undefined;
  /** A position is told to the caller, so a walk must not end at a name that the caller may not read. */
  readonly mayRead: (name: string) => boolean;
  /** The walk ends after this number of names. */
  readonly mostNames: number;
  /** The walk ends at this time (ms, monotonic clock). */
  readonly endAt: number;
  /** True: nobody waits for the result any more. */
  readonly isCancelled: () => boolean;
}

/**
 * Walks along the buckets from a position. Returns the position where the walk ended, or undefined after the last name. A walk
 * makes progress in each case: it looks at the names of one bucket at least once.
 *
 * Empty buckets are looked at together, and buckets with many names one at a time, because the answers of later buckets are
 * thrown away if a bucket is not finished.
 */
export async function walkBuckets<Item>(
  walk: Walk<Item>,
  start: ListPosition,
): Promise<ListPosition | undefined> {
  const { clock, bucketCount, look, mayRead, mostNames, endAt } = walk;
  let at = start;
  let together = 1;
  let nameCount = 0;
  while (at.bucket < bucketCount) {
    const count = Math.min(together, bucketCount - at.bucket);
    const first = at;
    const positions = Array.from({ length: count }, (_, index) =>
      index === 0 ? first : { bucket: first.bucket + index, after: '' },
    );
    const parts = await Promise.all(
      positions.map(({ bucket, after }) => look({ bucket, after: after === '' ? walk.firstPlace : after })),
    );
    for (const [index, part] of parts.entries()) {
      const position = positions[index] as ListPosition;
      nameCount += part.lookedAtCount;
      const last = part.items.find(walk.take);
      if (last !== undefined) return { ...position, after: walk.nameOf(last) };
      at = nextPosition(walk, position, part.last);
      if (at.bucket === position.bucket) break;
    }
    together = at.bucket === first.bucket + count ? Math.min(2 * together, MOST_TOGETHER) : 1;
    const isOver = nameCount >= mostNames || clock.now() >= endAt;
    // Between two buckets, and after a name that the caller may read, a position tells nothing new.
    if (walk.isCancelled() || (isOver && (at.after === '' || mayRead(at.after)))) break;
  }
  return at.bucket < bucketCount ? at : undefined;
}

/** A step without progress found names that were edited manually and are no UTF-8. They are left out. */
function nextPosition<Item>(
  { placeAfter }: Walk<Item>,
  { bucket, after }: ListPosition,
  last: string,
): ListPosition {
  const place = last === '' || last === after ? undefined : placeAfter(last);
  return place === undefined ? { bucket: bucket + 1, after: '' } : { bucket, after: place };
}
