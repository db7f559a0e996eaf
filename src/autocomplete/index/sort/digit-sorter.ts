import type { WorkMeter } from '../work-meter';

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
export class DigitSorter {
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
