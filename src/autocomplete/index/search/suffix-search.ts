import { type DeadSet, isDead, type SuffixIndex } from '../layer/layer';
import { STEPS, type Work } from '../work';
import { type Interval, LowestPositions, QueryIntervals } from './intervals';
import { rankAt } from './places';
import { PlainSearch, type RanksFound } from './plain-search';
import { ABSENT, type KindNumber, kindOfEntry, type Query, TYPO } from './query';
import { typoIntervals } from './typos';

/** The lowest of some ranks in a given order, each rank once. The order of ranks is the order of their numbers. */
export class LowestRanks {
  /** The lowest rank first. */
  readonly ranks: number[] = [];

  /** `limit`: at least 1. `compare` must not return 0 for two different ranks. The time of `add` grows with the limit. */
  constructor(
    private readonly limit: number,
    private readonly compare: (a: number, b: number) => number = (a, b) => a - b,
  ) {}

  get isFull(): boolean {
    return this.ranks.length === this.limit;
  }

  /** There must be at least one rank. */
  get highest(): number {
    return this.ranks.at(-1) as number;
  }

  /** False: `add` would change nothing, because there are enough lower ranks. */
  accepts(rank: number): boolean {
    return !this.isFull || this.compare(rank, this.highest) < 0;
  }

  has(rank: number): boolean {
    return this.ranks[this.#indexOf(rank)] === rank;
  }

  /** The rank must be new. */
  add(rank: number): void {
    this.ranks.splice(this.#indexOf(rank), 0, rank);
    if (this.ranks.length > this.limit) this.ranks.pop();
  }

  /** The index of the first rank that is not lower. */
  #indexOf(rank: number): number {
    let low = 0;
    let high = this.ranks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.compare(this.ranks[middle] as number, rank) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The elements of a scan between two looks at the bound of work and at the cancel flag. */
const SCANNED_AT_ONCE = 1024;

/** A scan of fewer elements takes less time than one call of the native search for bytes may take. */
const MIN_ELEMENTS_FOR_PLAIN_SEARCH = 4096;

/**
 * Searches a layer with sorted positions. The matches of a kind are the entries with a place in one of the kind's
 * intervals (intervals.ts), except for those with a place of a better kind. The query must not be empty.
 */
export class SuffixSearch {
  /** The ranks that were rejected for a kind, because their best kind is a better kind. So later kinds reject them too. */
  readonly #rejected = new Set<number>();
  readonly #intervals: QueryIntervals;

  constructor(
    private readonly index: SuffixIndex,
    private readonly dead: DeadSet,
    private readonly query: Query,
    private readonly work: Work,
  ) {
    this.#intervals = new QueryIntervals(index, query, work);
  }

  /**
   * The entries from rank `from` that match best by this kind, at most `limit`. The first search is quick if most
   * candidates match. From rank 0 the search goes through the lowest positions, and from a higher rank it goes rank by
   * rank. When this search has cost as much as a scan of the intervals, a scan finds the rest. Undefined: the work is
   * used up.
   */
  matches(kind: KindNumber, from: number, limit: number): readonly number[] | undefined {
    const intervals =
      kind === TYPO ? typoIntervals(this.index, this.query, this.work) : this.#intervals.ofKind(kind);
    if (intervals === undefined) return undefined;
    const size = intervals.reduce((sum, interval) => sum + interval.to - interval.from, 0);
    if (size === 0) return [];
    const scanSteps = stepsOfScan(size, limit);
    const quick =
      from === 0
        ? this.#lowest(kind, intervals, limit, scanSteps)
        : this.#nextRanks(kind, size, from, limit, scanSteps);
    if (quick === undefined) return undefined;
    const missing = limit - quick.ranks.length;
    if (missing === 0 || quick.next >= this.index.count) return quick.ranks;
    const rest = this.#scan(kind, intervals, quick.next, missing);
    return rest && [...quick.ranks, ...rest];
  }

  /** Searches rank by rank, which is quick if most ranks match. */
  #nextRanks(
    kind: KindNumber,
    size: number,
    from: number,
    limit: number,
    maxSteps: number,
  ): RanksFound | undefined {
    if (kind === TYPO || size < MIN_ELEMENTS_FOR_PLAIN_SEARCH) return { ranks: [], next: from };
    return new PlainSearch(this.index, this.dead, this.query, this.work).matches(kind, from, limit, maxSteps);
  }

  /** The first matches of the intervals, from the lowest position to the highest. */
  #lowest(
    kind: KindNumber,
    intervals: readonly Interval[],
    limit: number,
    maxSteps: number,
  ): RanksFound | undefined {
    const lastStep = this.work.spent + maxSteps;
    const ranks: number[] = [];
    let next = 0;
    const firstSteps = intervals.length * STEPS.nextLowest;
    if (firstSteps > maxSteps) return { ranks, next };
    if (!this.work.spend(firstSteps)) return undefined;
    const positions = new LowestPositions(intervals);
    while (ranks.length < limit) {
      if (this.work.spent > lastStep) return { ranks, next };
      const position = positions.next();
      if (position < 0) return { ranks, next: this.index.count };
      const rank = rankAt(this.index.formsAt, position, Math.max(next - 1, 0));
      if (!this.work.spend(STEPS.nextLowest)) return undefined;
      if (rank >= next && this.#isMatch(rank, kind)) ranks.push(rank);
      next = rank + 1;
    }
    return { ranks, next };
  }

  /** The lowest matching ranks from `from`, by one look at each element of the intervals. */
  #scan(
    kind: KindNumber,
    intervals: readonly Interval[],
    from: number,
    limit: number,
  ): readonly number[] | undefined {
    const { formsAt } = this.index;
    const lowest = new LowestRanks(limit);
    const start = formsAt[from] as number;
    let end = formsAt[this.index.count] as number;
    for (const { list, from: first, to } of intervals) {
      for (let element = first; element < to; element += 1) {
        const isPaid = (element - first) % SCANNED_AT_ONCE > 0;
        if (!isPaid && !this.work.spend(Math.min(to - element, SCANNED_AT_ONCE) * STEPS.position))
          return undefined;
        const position = list.positions[element] as number;
        if (position < start || position >= end) continue;
        this.work.spend(STEPS.rank);
        const rank = rankAt(formsAt, position, from);
        if (lowest.has(rank) || !this.#isMatch(rank, kind)) continue;
        lowest.add(rank);
        // All later positions belong to the highest kept rank or to higher ranks.
        if (lowest.isFull) end = formsAt[lowest.highest] as number;
      }
    }
    return lowest.ranks;
  }

  #isMatch(rank: number, kind: KindNumber): boolean {
    if (isDead(this.dead, rank) || this.#rejected.has(rank)) return false;
    const { formsAt } = this.index;
    this.work.spend(
      STEPS.entry + ((formsAt[rank + 1] as number) - (formsAt[rank] as number)) * STEPS.formByte,
    );
    const found = kindOfEntry(this.index, rank, this.query);
    if (found === (kind === TYPO ? ABSENT : kind)) return true;
    this.#rejected.add(rank);
    return false;
  }
}

/**
 * The expected work of a scan. An element is examined if its position is lower than the kept positions. In a random order
 * that happens `limit` times, and then ever more rarely.
 */
function stepsOfScan(size: number, limit: number): number {
  const examined = limit * (1 + Math.log(Math.max(size / limit, 1)));
  return size * STEPS.position + Math.min(examined, size) * STEPS.entry;
}
