import { rangeMinimum } from '../build/minima';
import type { SortedPositions, SuffixIndex } from '../layer/layer';
import { STEPS, type Work } from '../work';
import {
  AND_AT_END,
  AT_BEGINNING,
  AT_OTHER_CHARACTER,
  AT_WORD_START,
  type KindNumber,
  type Query,
} from './query';

/** The elements from `from` to `to`, without `to`, of a list of sorted positions. */
export interface Interval {
  readonly list: SortedPositions;
  readonly from: number;
  readonly to: number;
}

/** The interval of all positions at which the form continues with these bytes. */
export function intervalOf(forms: Uint8Array, list: SortedPositions, bytes: Uint8Array): Interval {
  const from = firstNotBefore(forms, list.positions, bytes);
  return { list, from, to: firstAfter(forms, list.positions, from, bytes) };
}

/**
 * The end of the elements of an interval at which the form has exactly `length` bytes left. These elements are the
 * first elements of the interval, because the end of a form sorts before any byte.
 */
function endOfWhole(forms: Uint8Array, { list, from, to }: Interval, length: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (forms[(list.positions[middle] as number) + length] === 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first element at which the form continues with these bytes, or with bytes that sort after these bytes. */
export function firstNotBefore(forms: Uint8Array, positions: Uint32Array, bytes: Uint8Array): number {
  let low = 0;
  let high = positions.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareStart(forms, positions[middle] as number, bytes) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first element, not before `from`, at which the form continues with bytes that sort after these bytes. */
function firstAfter(forms: Uint8Array, positions: Uint32Array, from: number, bytes: Uint8Array): number {
  let low = from;
  let high = positions.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareStart(forms, positions[middle] as number, bytes) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Negative: the bytes at the position come before `bytes`; 0: they begin with `bytes`. */
function compareStart(forms: Uint8Array, at: number, bytes: Uint8Array): number {
  for (let index = 0; index < bytes.length; index += 1) {
    const difference = (forms[at + index] as number) - (bytes[index] as number);
    // At the end of the form the difference is negative, so no byte after the form is read.
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The elements of one list at which the form continues with the query. */
interface ListInterval {
  readonly whole: Interval;
  /** At the elements before `lastEnd`, the form ends after the query. */
  readonly lastEnd: number;
}

/**
 * The intervals of a query in the three sorted lists of a layer. Each place of the query in a form is an element of one
 * interval. Elements of one list differ in their kind only by whether the form ends after the query.
 */
export class QueryIntervals {
  /** By the place of the list's elements: AT_BEGINNING, AT_WORD_START or AT_OTHER_CHARACTER. */
  readonly #known: (ListInterval | undefined)[] = [];

  constructor(
    private readonly index: SuffixIndex,
    private readonly query: Query,
    private readonly work: Work,
  ) {}

  /** The places with this best kind. An entry may have places of better kinds too. */
  ofKind(kind: KindNumber): readonly Interval[] {
    const { beginnings, wordStarts, otherStarts } = this.index;
    const intervals: Interval[] = [];
    this.#addOfKind(kind, AT_BEGINNING, beginnings, intervals);
    this.#addOfKind(kind, AT_WORD_START, wordStarts, intervals);
    this.#addOfKind(kind, AT_OTHER_CHARACTER, otherStarts, intervals);
    return intervals;
  }

  #addOfKind(kind: KindNumber, place: number, list: SortedPositions, intervals: Interval[]): void {
    const { kindByPlace } = this.query;
    const atEnd = kindByPlace[place + AND_AT_END] === kind;
    const elsewhere = kindByPlace[place] === kind;
    if (!atEnd && !elsewhere) return;
    const { whole, lastEnd } = this.#intervalIn(place, list);
    const from = atEnd ? whole.from : lastEnd;
    const to = elsewhere ? whole.to : lastEnd;
    if (from < to) intervals.push({ list, from, to });
  }

  #intervalIn(place: number, list: SortedPositions): ListInterval {
    const known = this.#known[place];
    if (known) return known;
    const { forms } = this.index;
    const whole = intervalOf(forms, list, this.query.bytes);
    const found = { whole, lastEnd: endOfWhole(forms, whole, this.query.bytes.length) };
    this.#known[place] = found;
    this.work.spend(STEPS.halving * HALVINGS_OF_AN_INTERVAL * Math.log2(list.positions.length + 1));
    return found;
  }
}

/** Two binary searches for the ends of the interval, and a cheaper one for `lastEnd`. */
const HALVINGS_OF_AN_INTERVAL = 2.5;

/** An interval, and the element with its lowest position. */
interface Candidate {
  readonly interval: Interval;
  readonly lowest: number;
  readonly position: number;
}

/**
 * Returns the positions of some intervals from the lowest to the highest. The lowest position of an interval divides the
 * interval into two. The intervals form a binary heap: no candidate has a lower position than its parent, and the parent
 * of the candidate i is the candidate (i - 1) / 2.
 */
export class LowestPositions {
  readonly #heap: Candidate[] = [];

  constructor(intervals: readonly Interval[]) {
    for (const interval of intervals) this.#add(interval);
  }

  /** The lowest position that was not returned before; -1: there is none. */
  next(): number {
    const candidate = this.#heap[0];
    if (candidate === undefined) return -1;
    this.#removeFirst();
    const { interval, lowest, position } = candidate;
    this.#add({ list: interval.list, from: interval.from, to: lowest });
    this.#add({ list: interval.list, from: lowest + 1, to: interval.to });
    return position;
  }

  #add(interval: Interval): void {
    const { list, from, to } = interval;
    if (from >= to) return;
    const lowest = rangeMinimum(list.minima, from, to);
    const added = { interval, lowest, position: list.positions[lowest] as number };
    let index = this.#heap.length;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = this.#heap[parent] as Candidate;
      if (above.position <= added.position) break;
      this.#heap[index] = above;
      index = parent;
    }
    this.#heap[index] = added;
  }

  #removeFirst(): void {
    const moved = this.#heap.pop() as Candidate;
    const size = this.#heap.length;
    if (size === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= size) break;
      const right = this.#heap[child + 1];
      if (right !== undefined && right.position < (this.#heap[child] as Candidate).position) child += 1;
      const lower = this.#heap[child] as Candidate;
      if (lower.position >= moved.position) break;
      this.#heap[index] = lower;
      index = child;
    }
    this.#heap[index] = moved;
  }
}
