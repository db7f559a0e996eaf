import type { Clock } from '../base/clock';
import type { ListedPart } from './lease-store';

/** A place in the order of a list: after this name in this bucket. An empty name: before the first name of the bucket. */
export interface ListPosition {
  readonly bucket: number;
  readonly after: string;
}

/** How many buckets a walk reads at the same time. The store runs about this number of reads at a time. */
const MOST_TOGETHER = 8;

export interface Walk<Item> {
  readonly clock: Clock;
  readonly bucketCount: number;
  /** Reads some names after the position. */
  readonly read: (position: ListPosition) => Promise<ListedPart<Item>>;
  /** Takes the items in order. True: the walk ends after this item. */
  readonly take: (item: Item) => boolean;
  readonly nameOf: (item: Item) => string;
  /** Empty, or a place in each bucket before the first name that the caller may read. */
  readonly firstPlace: string;
  /**
   * The place in a bucket at which the walk continues after a name. Undefined: no name that the caller may read
   * follows.
   */
  readonly placeAfter: (name: string) => string | undefined;
  /** The caller gets the position in a page token, so a walk must not end at a name that the caller may not read. */
  readonly mayRead: (name: string) => boolean;
  /** The walk ends after this number of names. */
  readonly mostNames: number;
  /** The walk ends at this time (ms, monotonic clock). */
  readonly endAt: number;
  /** True: the caller no longer waits for the result. */
  readonly isCancelled: () => boolean;
}

/**
 * Reads the names of the buckets in order, from a position on. Returns the position where the walk ended, or undefined
 * after the last name. Each walk makes progress, because it reads at least once.
 *
 * Empty buckets are read together, and buckets with many names one at a time: if one read does not finish its bucket,
 * the answers of the later buckets are discarded.
 */
export async function walkBuckets<Item>(
  walk: Walk<Item>,
  start: ListPosition,
): Promise<ListPosition | undefined> {
  const { clock, bucketCount, read, mayRead, mostNames, endAt } = walk;
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
      positions.map(({ bucket, after }) => read({ bucket, after: after === '' ? walk.firstPlace : after })),
    );
    for (const [index, part] of parts.entries()) {
      const position = positions[index] as ListPosition;
      nameCount += part.examinedCount;
      const last = part.items.find(walk.take);
      if (last !== undefined) return { ...position, after: walk.nameOf(last) };
      at = nextPosition(walk, position, part.last);
      if (at.bucket === position.bucket) break;
    }
    together = at.bucket === first.bucket + count ? Math.min(2 * together, MOST_TOGETHER) : 1;
    const isOver = nameCount >= mostNames || clock.now() >= endAt;
    // A position between two buckets, or after a name that the caller may read, tells the caller nothing new.
    if (walk.isCancelled() || (isOver && (at.after === '' || mayRead(at.after)))) break;
  }
  return at.bucket < bucketCount ? at : undefined;
}

/** A step without progress has found names that were edited manually and are not UTF-8. The walk skips these names. */
function nextPosition<Item>(
  { placeAfter }: Walk<Item>,
  { bucket, after }: ListPosition,
  last: string,
): ListPosition {
  const place = last === '' || last === after ? undefined : placeAfter(last);
  return place === undefined ? { bucket: bucket + 1, after: '' } : { bucket, after: place };
}
