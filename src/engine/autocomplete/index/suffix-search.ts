import { isDead, type DeadSet } from './dead-set';
import type { Interval } from './interval';
import { kindOfEntry } from './kind-of';
import type { SuffixIndex } from './layer';
import { LowestPositions } from './lowest-positions';
import { LowestRanks } from './lowest-ranks';
import { PlainSearch, type RanksFound } from './plain-search';
import { ABSENT, TYPO, type KindNumber, type Query } from './query';
import { QueryIntervals } from './query-intervals';
import { rankAt } from './rank-place';
import { typoIntervals } from './typo-intervals';
import { STEPS, type Work } from './work';

/** The cancel flag and the bound of work are looked at after this number of elements of a scan. */
const SCANNED_AT_ONCE = 1024;

/**
 * Searches a layer with sorted positions. The matches of a kind are the entries with a place in one of the kind's
 * intervals (query-intervals.ts), except for those with a place of a better kind. The query must not be empty.
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
   * The entries from rank `from` that match best by this kind, at most `limit`. A quick search comes first: from the first
   * rank through the lowest positions, else through the next ranks. If the quick search finds too few entries for the time
   * of a scan, a scan of the intervals finds the rest. Undefined: the work is used up.
   */
  matches(kind: KindNumber, from: number, limit: number): readonly number[] | undefined {
    const intervals =
      kind === TYPO ? typoIntervals(this.index, this.query, this.work) : this.#intervals.ofKind(kind);
    if (intervals === undefined) return undefined;
    const size = intervals.reduce((sum, interval) => sum + interval.to - interval.from, 0);
    if (size === 0) return [];
    const scanSteps = stepsOfScan(size, limit);
    const quick = this.#quickMatches(kind, intervals, from, limit, scanSteps);
    if (quick === undefined) return undefined;
    const missing = limit - quick.ranks.length;
    if (missing === 0 || quick.next >= this.index.count) return quick.ranks;
    const rest = this.#scan(kind, intervals, quick.next, missing);
    return rest && [...quick.ranks, ...rest];
  }

  #quickMatches(
    kind: KindNumber,
    intervals: readonly Interval[],
    from: number,
    limit: number,
    maxSteps: number,
  ): RanksFound | undefined {
    if (from === 0) return this.#lowest(kind, intervals, limit, maxSteps);
    if (kind === TYPO) return { ranks: [], next: from };
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
    const positions = new LowestPositions(intervals);
    const ranks: number[] = [];
    let next = 0;
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
        const scanned = element - first;
        if (
          scanned % SCANNED_AT_ONCE === 0 &&
          !this.work.spend(stepsOfScan(Math.min(to - element, SCANNED_AT_ONCE), 0))
        )
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
  const examined = limit === 0 ? 0 : limit * (1 + Math.log(Math.max(size / limit, 1)));
  return size * STEPS.position + Math.min(examined, size) * STEPS.entry;
}
