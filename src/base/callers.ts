import type { Clock } from './clock';
import type { Reason } from './errors';

/** The bound of callers with counts of their own. */
const MAX_CALLERS = 2048;
/** The callers that are compared when a new caller needs a place. */
const COMPARED_CALLERS = 8;
/** The recent counts lose their oldest calls once in this time (ms). */
const STEP_MS = 10_000;
const STEPS = 6;

/** What one caller does on this server: an identity at an address. */
export class CallerUse {
  /** Calls, commands of sessions and queries of SuggestStream, with those that were refused. */
  callCount = 0;
  refusalCount = 0;
  leaseCount = 0;
  waiterCount = 0;
  streamCount = 0;
  connectionCount = 0;
  lastRefusal: Reason | undefined;
  /** The calls in progress, with the open streams. */
  openCount = 0;
  /** False: the caller has lost its place, and must be looked up again before its next call is counted. */
  hasPlace = true;
  /** `callCount` and `refusalCount` at the last steps, in pairs, the oldest pair first. */
  private readonly marks = new Float64Array(2 * STEPS);

  constructor(
    /** Empty: the caller has proven no identity. */
    readonly identity: string,
    readonly address: string,
    readonly since: number,
  ) {}

  get recentCallCount(): number {
    return this.callCount - (this.marks[0] as number);
  }

  get recentRefusalCount(): number {
    return this.refusalCount - (this.marks[1] as number);
  }

  /** A caller with work in progress keeps its place, because the work is counted until its end. */
  get isBusy(): boolean {
    return this.openCount + this.leaseCount + this.waiterCount > 0;
  }

  step(): void {
    this.marks.copyWithin(0, 2);
    this.marks[2 * STEPS - 2] = this.callCount;
    this.marks[2 * STEPS - 1] = this.refusalCount;
  }

  /** Adds the calls of a caller that has lost its place. */
  absorb(lost: CallerUse): void {
    this.callCount += lost.callCount;
    this.refusalCount += lost.refusalCount;
    this.lastRefusal = lost.lastRefusal ?? this.lastRefusal;
    for (const [index, mark] of lost.marks.entries())
      this.marks[index] = (this.marks[index] as number) + mark;
  }
}

export type CallerOrder = 'calls' | 'refusals' | 'leases' | 'waiters';

export interface CallerQuery {
  /** Empty: all identities. */
  readonly identity: string;
  /** Empty: all addresses. */
  readonly address: string;
  readonly order: CallerOrder;
  readonly count: number;
}

const COUNTS: Readonly<Record<CallerOrder, (caller: CallerUse) => number>> = {
  calls: (caller) => caller.recentCallCount,
  refusals: (caller) => caller.recentRefusalCount,
  leases: (caller) => caller.leaseCount,
  waiters: (caller) => caller.waiterCount,
};

/**
 * The callers of this server. The number of their places is bounded: a new caller takes the place of the one with the
 * fewest recent calls among a few others. So a caller with many calls keeps its place, also while thousands of others come
 * with a call each.
 */
export class Callers {
  /** The callers without a place, together. */
  readonly other: CallerUse;
  /** How many times a caller has lost its place, or has found none. */
  displacedCount = 0;
  private readonly known = new Map<string, CallerUse>();
  private readonly places: CallerUse[] = [];
  /** The place that is compared next. The places are compared in turn. */
  private next = 0;
  private steppedAt: number;
  private readonly startedAt: number;

  constructor(
    private readonly clock: Clock,
    private readonly maxCount = MAX_CALLERS,
  ) {
    this.startedAt = this.steppedAt = clock.now();
    this.other = new CallerUse('', '', this.startedAt);
    this.other.hasPlace = false;
  }

  /** The number of callers with a place. */
  get size(): number {
    return this.places.length;
  }

  /** The time of the recent counts (ms). */
  get recentMs(): number {
    const now = this.clock.now();
    this.stepTo(now);
    return Math.min(now - this.steppedAt + (STEPS - 1) * STEP_MS, now - this.startedAt);
  }

  called(caller: CallerUse): void {
    this.stepTo(this.clock.now());
    caller.callCount += 1;
  }

  refused(caller: CallerUse, reason: Reason): void {
    this.stepTo(this.clock.now());
    caller.refusalCount += 1;
    caller.lastRefusal = reason;
  }

  /** Almost always a comparison only. */
  private stepTo(now: number): void {
    if (now - this.steppedAt < STEP_MS) return;
    const passed = Math.floor((now - this.steppedAt) / STEP_MS);
    this.steppedAt += passed * STEP_MS;
    for (let step = 0; step < Math.min(passed, STEPS); step += 1) {
      for (const caller of this.places) caller.step();
      this.other.step();
    }
  }

  of(identity: string, address: string): CallerUse {
    const key = keyOf(identity, address);
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const isFull = this.places.length >= this.maxCount;
    if (isFull) this.displacedCount += 1;
    const place = isFull ? this.freePlace() : this.places.length;
    if (place === undefined) return this.other;
    const caller = new CallerUse(identity, address, this.clock.now());
    this.places[place] = caller;
    this.known.set(key, caller);
    return caller;
  }

  list({ identity, address, order, count }: CallerQuery): {
    readonly callers: readonly CallerUse[];
    readonly matchCount: number;
  } {
    this.stepTo(this.clock.now());
    const matches = this.places.filter(
      (caller) =>
        (identity === '' || caller.identity === identity) && (address === '' || caller.address === address),
    );
    const countOf = COUNTS[order];
    matches.sort((a, b) => countOf(b) - countOf(a) || b.callCount - a.callCount);
    return { callers: matches.slice(0, count), matchCount: matches.length };
  }

  /**
   * Ends the place of the quietest caller among the next few. Returns the index of the place. Undefined: all compared
   * callers have work in progress.
   */
  private freePlace(): number | undefined {
    let quietest: number | undefined;
    for (let left = Math.min(COMPARED_CALLERS, this.places.length); left > 0; left -= 1) {
      const index = this.next;
      this.next = (index + 1) % this.places.length;
      const { isBusy, recentCallCount } = this.places[index] as CallerUse;
      if (isBusy) continue;
      const least = quietest === undefined ? Infinity : (this.places[quietest] as CallerUse).recentCallCount;
      if (recentCallCount < least) quietest = index;
    }
    if (quietest === undefined) return undefined;
    const caller = this.places[quietest] as CallerUse;
    this.known.delete(keyOf(caller.identity, caller.address));
    caller.hasPlace = false;
    this.other.absorb(caller);
    return quietest;
  }
}

function keyOf(identity: string, address: string): string {
  return `${address} ${identity}`;
}
