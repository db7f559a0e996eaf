interface Lane<T> {
  readonly items: (T | undefined)[];
  /** The index of the first item that is still in the lane. */
  head: number;
}

/** A lane drops its used half above this number of items. */
const COMPACT_AT = 64;

/**
 * A queue that serves its callers in turn: one item of each caller in each round. A new caller does not wait for the
 * end of the round: while new callers wait, every second item goes to a new caller. A caller is new again after a
 * round without items. The idea is from FQ-CoDel (RFC 8290), which serves new flows first.
 */
export class FairQueue<T> {
  /** The new callers, by arrival. No lane is empty. */
  private readonly arrived = new Map<unknown, Lane<T>>();
  /** The callers of this round, in the order in which they are served next. A caller without items stays for one round. */
  private readonly round = new Map<unknown, Lane<T>>();
  private isTurnOfRound = false;
  private count = 0;

  get size(): number {
    return this.count;
  }

  /**
   * An upper bound of the number of items that leave the queue before a new item of the caller, if no other item
   * arrives.
   */
  ahead(caller: unknown): number {
    const lane = this.laneOf(caller);
    if (lane === undefined) return Math.min(this.count, 2 * this.arrived.size + 1);
    const own = lane.items.length - lane.head;
    const callers = this.arrived.size + this.round.size;
    return Math.min(this.count, (own + 1) * callers + this.arrived.size);
  }

  push(caller: unknown, item: T): void {
    this.count += 1;
    const lane = this.laneOf(caller);
    if (lane) lane.items.push(item);
    else this.arrived.set(caller, { items: [item], head: 0 });
  }

  shift(): T | undefined {
    if (this.count === 0) return undefined;
    this.isTurnOfRound = !this.isTurnOfRound;
    const item = this.isTurnOfRound
      ? (this.shiftFrom(this.round) ?? this.shiftFrom(this.arrived))
      : (this.shiftFrom(this.arrived) ?? this.shiftFrom(this.round));
    this.count -= 1;
    if (this.count === 0) this.round.clear();
    return item;
  }

  private shiftFrom(lanes: Map<unknown, Lane<T>>): T | undefined {
    for (const [caller, lane] of lanes) {
      lanes.delete(caller);
      if (lane.head === lane.items.length) continue;
      this.round.set(caller, lane);
      return take(lane);
    }
    return undefined;
  }

  private laneOf(caller: unknown): Lane<T> | undefined {
    return this.round.get(caller) ?? this.arrived.get(caller);
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

/**
 * The order of work under load. `high`: work on leases that exist (renew, release, claim, touch, withdraw) and epochs.
 * `normal`: new leases and settings. `low`: reads and autocomplete. Work of high priority is never refused for lack of
 * time.
 */
export type Priority = 'high' | 'normal' | 'low';
