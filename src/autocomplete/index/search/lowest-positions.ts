import type { Interval } from './interval';
import { rangeMinimum } from '../build/minima';

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
