import { EqualGroups } from './equal-groups';
import { KeySorter } from './key-sorter';
import type { WorkMeter } from './work-meter';

/** Every suffix is compared to this depth at least (bytes). Names and titles rarely have so much in common. */
export const FIXED_DEPTH = 64;

const KEY_BYTES = 4;
/** The number of pairs of bytes. */
const PAIRS = 0x10000;
/** The first pass over all pairs of bytes costs more than it saves for fewer positions. */
const MIN_RADIX_LENGTH = 8192;
/** Ranges of at most this length are sorted by insertion. */
const INSERTION_LENGTH = 16;

/**
 * Sorts positions in `forms` by the bytes from there to the end of the form: first by the first two bytes of all
 * positions, then range by range by the next four bytes, and short ranges by insertion. Equal bytes are in the order of
 * positions. Bytes beyond FIXED_DEPTH are compared until `deepSteps` steps are used up. Then positions with equal bytes
 * to that depth stay in any order, in groups.
 */
export class PrefixSort {
  /** The ranges of positions with equal bytes to FIXED_DEPTH at least, in which the order is unknown. */
  readonly groups = new EqualGroups();
  readonly #sorter: KeySorter;
  /** Triples of start, end and the number of bytes that all positions of the range have in common. */
  readonly #pending: number[] = [];
  /** True after a comparison that ended at the limit. */
  #reachedLimit = false;

  /** `scratch` is as long as `positions`, and afterwards has any content. */
  constructor(
    private readonly forms: Uint8Array,
    private readonly positions: Uint32Array,
    private readonly scratch: Uint32Array,
    private readonly meter: WorkMeter,
    private deepSteps: number,
  ) {
    this.#sorter = new KeySorter(scratch, positions, meter);
  }

  /** The positions are in rising order before. */
  sort(): void {
    const { length } = this.positions;
    if (length < MIN_RADIX_LENGTH) {
      this.#sortRange(0, length, 0);
      return;
    }
    const ends = this.#sortByPairs();
    let start = 0;
    for (let pair = 0; pair < PAIRS; pair++) {
      const end = ends[pair] as number;
      // The low byte of a pair is zero if the form ends there. Equal positions are in their order already.
      if ((pair & 0xff) !== 0) this.#sortRange(start, end, 2);
      start = end;
    }
  }

  /** Sorts by the first two bytes and keeps the order of equal pairs. Returns the end of each pair's range. */
  #sortByPairs(): Uint32Array {
    const { positions, scratch, meter } = this;
    const ends = new Uint32Array(PAIRS + 1);
    for (let index = 0; index < positions.length; index++) {
      (ends[this.#pairAt(positions[index] as number) + 1] as number)++;
      meter.spend(1);
    }
    for (let pair = 1; pair < PAIRS; pair++) ends[pair] = (ends[pair] as number) + (ends[pair - 1] as number);
    for (let index = 0; index < positions.length; index++) {
      const position = positions[index] as number;
      const pair = this.#pairAt(position);
      scratch[ends[pair] as number] = position;
      ends[pair] = (ends[pair] as number) + 1;
      meter.spend(2);
    }
    positions.set(scratch);
    return ends;
  }

  #pairAt(position: number): number {
    const first = this.forms[position] as number;
    return first === 0 ? 0 : (first << 8) | (this.forms[position + 1] as number);
  }

  #sortRange(from: number, to: number, depth: number): void {
    this.#pending.push(from, to, depth);
    while (this.#pending.length > 0) {
      const common = this.#pending.pop() as number;
      const end = this.#pending.pop() as number;
      const start = this.#pending.pop() as number;
      if (end - start < 2) continue;
      if (common >= FIXED_DEPTH && this.deepSteps <= 0) this.groups.add(start, end);
      else if (end - start <= INSERTION_LENGTH) this.#sortByInsertion(start, end, common);
      else this.#sortByKeys(start, end, common);
    }
  }

  /** Sorts by the four bytes after the common bytes. Ranges with equal keys are sorted later. */
  #sortByKeys(start: number, end: number, common: number): void {
    const keys = this.scratch;
    for (let index = start; index < end; index++) {
      keys[index] = this.#keyAt((this.positions[index] as number) + common);
      this.meter.spend(KEY_BYTES);
    }
    if (common >= FIXED_DEPTH) this.deepSteps -= end - start;
    this.#sorter.sort(start, end);
    for (let index = start; index < end;) {
      const first = index;
      const key = keys[first] as number;
      do index += 1;
      while (index < end && keys[index] === key);
      if (index - first === 1) continue;
      // The last byte of a key is zero if the form ends there.
      if ((key & 0xff) === 0) this.positions.subarray(first, index).sort();
      else this.#pending.push(first, index, common + KEY_BYTES);
    }
  }

  /** The next four bytes. Bytes after the end of the form count as zero. */
  #keyAt(position: number): number {
    const { forms } = this;
    const first = forms[position] as number;
    if (first === 0) return 0;
    const second = forms[position + 1] as number;
    if (second === 0) return (first << 24) >>> 0;
    const third = forms[position + 2] as number;
    if (third === 0) return ((first << 24) | (second << 16)) >>> 0;
    return ((first << 24) | (second << 16) | (third << 8) | (forms[position + 3] as number)) >>> 0;
  }

  #sortByInsertion(start: number, end: number, common: number): void {
    const { positions } = this;
    const limit = this.deepSteps > 0 ? Infinity : FIXED_DEPTH;
    this.#reachedLimit = false;
    for (let index = start + 1; index < end; index++) {
      const position = positions[index] as number;
      let place = index;
      for (; place > start; place--) {
        const before = positions[place - 1] as number;
        if (this.#compare(before, position, common, limit) <= 0) break;
        positions[place] = before;
      }
      positions[place] = position;
    }
    if (this.#reachedLimit) this.#addGroups(start, end, common, limit);
  }

  /** The order of two positions; 0: their bytes are equal up to the limit. */
  #compare(a: number, b: number, common: number, limit: number): number {
    const { forms } = this;
    let depth = common;
    let difference = 0;
    for (; depth < limit; depth++) {
      const byte = forms[a + depth] as number;
      difference = byte - (forms[b + depth] as number);
      if (difference !== 0) break;
      if (byte === 0) {
        difference = a - b;
        break;
      }
    }
    this.meter.spend(depth - common + 1);
    if (depth > FIXED_DEPTH) this.deepSteps -= depth - FIXED_DEPTH;
    if (depth === limit) this.#reachedLimit = true;
    return difference;
  }

  /** Adds the groups of neighbours that are equal up to the limit. */
  #addGroups(start: number, end: number, common: number, limit: number): void {
    for (let index = start; index < end;) {
      const first = index;
      do index += 1;
      while (index < end && this.#areEqual(index - 1, index, common, limit));
      if (index - first > 1) this.groups.add(first, index);
    }
  }

  #areEqual(a: number, b: number, common: number, limit: number): boolean {
    return this.#compare(this.positions[a] as number, this.positions[b] as number, common, limit) === 0;
  }
}
