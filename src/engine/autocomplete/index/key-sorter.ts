import { DigitSorter } from './digit-sorter';
import type { WorkMeter } from './work-meter';

/** Ranges of at most this length are sorted by insertion. */
const INSERTION_LENGTH = 12;
/** Ranges of these lengths are sorted by digits. For shorter ranges the counts of all digits cost more. */
const MIN_DIGIT_LENGTH = 160;
/** Bounds the spare memory. Longer ranges are divided before. */
const MAX_DIGIT_LENGTH = 1 << 16;

/**
 * Sorts a range of two parallel arrays by the keys: quicksort with three parts. Pivots are random, so no order of the
 * keys makes the sort slow. Pending ranges lie on a stack that grows, so the depth of recursion has no limit.
 */
export class KeySorter {
  /** Pairs of start and end. */
  readonly #pending: number[] = [];
  #digitSorter: DigitSorter | undefined;

  constructor(
    private readonly keys: Uint32Array,
    private readonly values: Uint32Array,
    private readonly meter: WorkMeter,
  ) {}

  /** Sorts [from, to). Values with equal keys are in any order afterwards. */
  sort(from: number, to: number): void {
    let start = from;
    let end = to;
    for (;;) {
      while (end - start > INSERTION_LENGTH) {
        if (end - start >= MIN_DIGIT_LENGTH && end - start <= MAX_DIGIT_LENGTH) {
          this.#digitSorter ??= new DigitSorter(this.keys, this.values, MAX_DIGIT_LENGTH, this.meter);
          this.#digitSorter.sort(start, end);
          start = end;
          break;
        }
        this.meter.spend(end - start);
        const { keys } = this;
        const pivot = this.#pivot(start, end);
        let equalStart = start;
        let equalEnd = end;
        for (let index = start; index < equalEnd;) {
          const key = keys[index] as number;
          if (key < pivot) this.#swap(index++, equalStart++);
          else if (key > pivot) this.#swap(index, --equalEnd);
          else index += 1;
        }
        // The larger part waits, so at most one pair per halving is pending.
        if (equalStart - start > end - equalEnd) {
          this.#pending.push(start, equalStart);
          start = equalEnd;
        } else {
          this.#pending.push(equalEnd, end);
          end = equalStart;
        }
      }
      this.#sortByInsertion(start, end);
      if (this.#pending.length === 0) return;
      end = this.#pending.pop() as number;
      start = this.#pending.pop() as number;
    }
  }

  /** The median of three random keys. */
  #pivot(start: number, end: number): number {
    const { keys } = this;
    const length = end - start;
    const a = keys[start + Math.floor(Math.random() * length)] as number;
    const b = keys[start + Math.floor(Math.random() * length)] as number;
    const c = keys[start + Math.floor(Math.random() * length)] as number;
    return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
  }

  #swap(a: number, b: number): void {
    const { keys, values } = this;
    const key = keys[a] as number;
    const value = values[a] as number;
    keys[a] = keys[b] as number;
    values[a] = values[b] as number;
    keys[b] = key;
    values[b] = value;
  }

  #sortByInsertion(start: number, end: number): void {
    const { keys, values } = this;
    for (let index = start + 1; index < end; index++) {
      const key = keys[index] as number;
      const value = values[index] as number;
      let place = index;
      for (; place > start && (keys[place - 1] as number) > key; place--) {
        keys[place] = keys[place - 1] as number;
        values[place] = values[place - 1] as number;
      }
      keys[place] = key;
      values[place] = value;
    }
  }
}
