import { grown, type WorkMeter } from '../work';

/** Keys are sorted by their bytes, the lowest first. */
const BYTES = 4;
const BYTE_VALUES = 256;
const BYTE_MASK = BYTE_VALUES - 1;
const BYTE_BITS = 8;

/** The arrays of a range: its keys, its values, and where the range begins in both. */
interface Range {
  readonly keys: Uint32Array;
  readonly values: Uint32Array;
  readonly start: number;
}

/** Sorts ranges of two parallel arrays by the keys: radix sort, byte by byte. Equal keys keep their order. */
class DigitSorter {
  /** How often each value of each byte occurs; then the next place of each value. */
  readonly #places = new Uint32Array(BYTES * BYTE_VALUES);
  readonly #spare: Range;

  constructor(
    private readonly keys: Uint32Array,
    private readonly values: Uint32Array,
    readonly maxLength: number,
    private readonly meter: WorkMeter,
  ) {
    this.#spare = { keys: new Uint32Array(maxLength), values: new Uint32Array(maxLength), start: 0 };
  }

  /** Sorts [start, end), at most `maxLength` elements. */
  sort(start: number, end: number): void {
    const length = end - start;
    const range: Range = { keys: this.keys, values: this.values, start };
    const anyKey = this.keys[start] as number;
    this.#count(start, end);
    let from = range;
    let to = this.#spare;
    for (let byte = 0; byte < BYTES; byte++) {
      if (this.#isSameInAll(byte, length, anyKey)) continue;
      this.#move(byte, length, from, to);
      [from, to] = [to, from];
    }
    if (from === range) return;
    this.keys.set(from.keys.subarray(0, length), start);
    this.values.set(from.values.subarray(0, length), start);
  }

  #count(start: number, end: number): void {
    const places = this.#places.fill(0);
    for (let index = start; index < end; index++) {
      let key = this.keys[index] as number;
      for (let first = 0; first < places.length; first += BYTE_VALUES) {
        (places[first + (key & BYTE_MASK)] as number)++;
        key >>>= BYTE_BITS;
      }
    }
    this.meter.spend(places.length + BYTES * (end - start));
  }

  /** True if all keys have the same value of this byte. */
  #isSameInAll(byte: number, length: number, anyKey: number): boolean {
    const value = (anyKey >>> (byte * BYTE_BITS)) & BYTE_MASK;
    return this.#places[byte * BYTE_VALUES + value] === length;
  }

  #move(byte: number, length: number, from: Range, to: Range): void {
    const places = this.#places;
    const first = byte * BYTE_VALUES;
    const shift = byte * BYTE_BITS;
    let place = to.start;
    for (let value = first; value < first + BYTE_VALUES; value++) {
      const count = places[value] as number;
      places[value] = place;
      place += count;
    }
    for (let index = from.start; index < from.start + length; index++) {
      const key = from.keys[index] as number;
      const value = first + ((key >>> shift) & BYTE_MASK);
      const target = places[value] as number;
      places[value] = target + 1;
      to.keys[target] = key;
      to.values[target] = from.values[index] as number;
    }
    this.meter.spend(BYTE_VALUES + 2 * length);
  }
}

/** Ranges of at most this length are sorted by insertion. */
const INSERTION_LENGTH = 12;
/** Ranges of at least this length are sorted by digits. For shorter ranges the counts of all digits cost more. */
const MIN_DIGIT_LENGTH = 160;
/** Bounds the spare memory. Longer ranges are divided before. */
const MAX_DIGIT_LENGTH = 1 << 16;

const HIGHEST_BYTE = 3;

/**
 * Sorts ranges of two parallel arrays by the keys. No order of the keys makes a sort slow: only ranges of fewer than 160
 * elements are sorted by comparison.
 */
export class KeySorter {
  #digitSorter: DigitSorter | undefined;

  constructor(
    private readonly keys: Uint32Array,
    private readonly values: Uint32Array,
    private readonly meter: WorkMeter,
  ) {}

  /** Sorts [start, end). Values with equal keys are in any order afterwards. */
  sort(start: number, end: number): void {
    if (end - start < MIN_DIGIT_LENGTH) this.#sortByComparison(start, end);
    else this.#sortByDigits(start, end, HIGHEST_BYTE);
  }

  /**
   * Repeated forms have long ranges of equal keys. In all other ranges, this function soon finds two different keys.
   */
  #areEqual(start: number, end: number): boolean {
    const first = this.keys[start];
    for (let index = start + 1; index < end; index++) {
      if (this.keys[index] !== first) return false;
      this.meter.spend(1);
    }
    return true;
  }

  /** The keys are equal above the byte `highest`. */
  #sortByDigits(start: number, end: number, highest: number): void {
    if (this.#areEqual(start, end)) return;
    if (end - start <= MAX_DIGIT_LENGTH) {
      this.#digitSorter ??= new DigitSorter(this.keys, this.values, MAX_DIGIT_LENGTH, this.meter);
      this.#digitSorter.sort(start, end);
      return;
    }
    let from = start;
    for (const to of this.#divide(start, end, highest)) {
      if (to - from < MIN_DIGIT_LENGTH) this.#sortByComparison(from, to);
      else this.#sortByDigits(from, to, highest - 1);
      from = to;
    }
  }

  /** Divides a range by one byte of the keys, without spare memory. Returns the end of each value's part. */
  #divide(start: number, end: number, byte: number): Uint32Array {
    const { keys } = this;
    const shift = byte * BYTE_BITS;
    const ends = new Uint32Array(BYTE_VALUES);
    for (let index = start; index < end; index++) {
      (ends[((keys[index] as number) >>> shift) & BYTE_MASK] as number)++;
      this.meter.spend(1);
    }
    const places = new Uint32Array(BYTE_VALUES);
    let sum = start;
    for (let value = 0; value < BYTE_VALUES; value++) {
      places[value] = sum;
      sum += ends[value] as number;
      ends[value] = sum;
    }
    for (let value = 0; value < BYTE_VALUES; value++) {
      for (let place = places[value] as number; place < (ends[value] as number);) {
        const found = ((keys[place] as number) >>> shift) & BYTE_MASK;
        const target = places[found] as number;
        places[found] = target + 1;
        if (found !== value) this.#swap(place, target);
        place = places[value] as number;
        this.meter.spend(2);
      }
    }
    return ends;
  }

  /** Quicksort with three parts. */
  #sortByComparison(from: number, end: number): void {
    const { keys } = this;
    let start = from;
    while (end - start > INSERTION_LENGTH) {
      const pivot = this.#pivot(start, end);
      let equalStart = start;
      let equalEnd = end;
      for (let index = start; index < equalEnd;) {
        const key = keys[index] as number;
        if (key < pivot) this.#swap(index++, equalStart++);
        else if (key > pivot) this.#swap(index, --equalEnd);
        else index += 1;
      }
      this.meter.spend(end - start);
      this.#sortByComparison(start, equalStart);
      start = equalEnd;
    }
    this.#sortByInsertion(start, end);
  }

  /** The median of three keys. */
  #pivot(start: number, end: number): number {
    const { keys } = this;
    const a = keys[start] as number;
    const b = keys[(start + end) >>> 1] as number;
    const c = keys[end - 1] as number;
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

/** A list of ranges of an array, in typed arrays, because there may be millions of ranges. */
export class EqualGroups {
  /** Pairs of start and end. */
  #bounds = new Uint32Array(64);
  #length = 0;

  get count(): number {
    return this.#length / 2;
  }

  add(start: number, end: number): void {
    this.#bounds = grown(this.#bounds, this.#length + 2);
    this.#bounds[this.#length++] = start;
    this.#bounds[this.#length++] = end;
  }

  start(group: number): number {
    return this.#bounds[2 * group] as number;
  }

  end(group: number): number {
    return this.#bounds[2 * group + 1] as number;
  }
}
