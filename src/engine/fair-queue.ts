interface Lane<T> {
  readonly items: (T | undefined)[];
  /** The index of the first item that is still in the lane. */
  head: number;
}

/** A lane drops its used half above this number of items. */
const COMPACT_AT = 64;

/**
 * A queue that serves its callers in turn: one item of each caller, then the next item of each caller (round robin). So
 * a caller with many items delays its own items, and delays any other caller by one item a round.
 */
export class FairQueue<T> {
  /** By caller, in the order in which the callers are served next. No lane is empty. */
  private readonly lanes = new Map<unknown, Lane<T>>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** An upper bound of the number of items that leave the queue before a new item of the caller. */
  ahead(caller: unknown): number {
    const lane = this.lanes.get(caller);
    const own = lane === undefined ? 0 : lane.items.length - lane.head;
    return Math.min(this.count, (own + 1) * this.lanes.size);
  }

  push(caller: unknown, item: T): void {
    this.count += 1;
    const lane = this.lanes.get(caller);
    if (lane) lane.items.push(item);
    else this.lanes.set(caller, { items: [item], head: 0 });
  }

  shift(): T | undefined {
    for (const [caller, lane] of this.lanes) {
      const item = take(lane);
      this.count -= 1;
      this.lanes.delete(caller);
      // The caller is served again after all other callers.
      if (lane.head < lane.items.length) this.lanes.set(caller, lane);
      return item;
    }
    return undefined;
  }
}

function take<T>(lane: Lane<T>): T | undefined {
  const item = lane.items[lane.head];
  lane.items[lane.head] = undefined;
  lane.head += 1;
  if (lane.head > COMPACT_AT && lane.head * 2 > lane.items.length) {
    lane.items.splice(0, lane.head);
    lane.head = 0;
  }
  return item;
}
