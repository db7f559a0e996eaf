interface Lane<T> {
  readonly items: (T | undefined)[];
  /** The index of the first item that is still in the lane. */
  head: number;
}

/** A lane drops its used half above this number of items. */
const COMPACT_AT = 64;

/**
 * A queue that serves its callers in turn: one item of each caller, then the next item of each caller (round robin). So
 * a caller with many items delays its own items, and delays any other caller by one item a round. While callers wait
 * that have not been served since they came, every second item is one of theirs. So a caller with few items hardly
 * waits for many callers with many items. The idea is from FQ-CoDel (RFC 8290), which serves new flows first.
 */
export class FairQueue<T> {
  /** The callers that have not been served since they came, by arrival. No lane is empty. */
  private readonly arrived = new Map<unknown, Lane<T>>();
  /** The callers that have been served and have more items, in the order in which they are served next. */
  private readonly returned = new Map<unknown, Lane<T>>();
  private isTurnOfReturned = false;
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** An upper bound of the number of items that leave the queue before a new item of the caller, if no caller comes. */
  ahead(caller: unknown): number {
    const lane = this.laneOf(caller);
    if (lane === undefined) return Math.min(this.count, 2 * this.arrived.size + 1);
    const own = lane.items.length - lane.head;
    const callers = this.arrived.size + this.returned.size;
    return Math.min(this.count, (own + 1) * callers + this.arrived.size);
  }

  push(caller: unknown, item: T): void {
    this.count += 1;
    const lane = this.laneOf(caller);
    if (lane) lane.items.push(item);
    else this.arrived.set(caller, { items: [item], head: 0 });
  }

  shift(): T | undefined {
    this.isTurnOfReturned = this.arrived.size === 0 || (!this.isTurnOfReturned && this.returned.size > 0);
    const lanes = this.isTurnOfReturned ? this.returned : this.arrived;
    for (const [caller, lane] of lanes) {
      const item = take(lane);
      this.count -= 1;
      lanes.delete(caller);
      // The caller is served again after all other callers.
      if (lane.head < lane.items.length) this.returned.set(caller, lane);
      return item;
    }
    return undefined;
  }

  private laneOf(caller: unknown): Lane<T> | undefined {
    return this.returned.get(caller) ?? this.arrived.get(caller);
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
