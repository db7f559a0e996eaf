import { EqualGroups, KeySorter } from './key-sorter';
import type { StartReader } from '../build/starts';
import type { WorkMeter } from '../work';

/** Every suffix is compared to this depth at least (bytes). Names and titles rarely have so much in common. */
export const FIXED_DEPTH = 64;

const KEY_BYTES = 4;
const PAIR_BYTES = 2;
/** The number of pairs of bytes. */
const PAIRS = 0x10000;
/** The first pass over all pairs of bytes costs more than it saves for fewer positions. */
const MIN_RADIX_LENGTH = 8192;
const CHUNK_LENGTH = 4096;
/** Ranges of at most this length are sorted by insertion. */
const INSERTION_LENGTH = 4;

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
  #pending: number[] = [];
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

  /** Writes the positions into `positions` in their order. */
  sort(starts: StartReader): void {
    if (starts.count < MIN_RADIX_LENGTH) {
      starts.read(this.positions);
      this.#sortRange(0, starts.count, 0);
      return;
    }
    const ends = this.#sortByPairs(starts);
    let start = 0;
    for (let pair = 0; pair < PAIRS; pair++) {
      const end = ends[pair] as number;
      // The low byte of a pair is zero if the form ends there. Equal positions are in their order already.
      if ((pair & 0xff) !== 0 && end - start > 1) {
        this.#sortByKeys(start, end, PAIR_BYTES);
        this.#sortPending();
      }
      start = end;
    }
  }

  /**
   * Writes the positions in the order of their first two bytes, and equal pairs in rising order. The keys are the next
   * four bytes. They are read here, because the forms are read in their order here, which is faster. Returns the end of
   * each pair's range.
   */
  #sortByPairs(starts: StartReader): Uint32Array {
    const { positions, scratch } = this;
    const ends = this.#countPairs(starts);
    const chunk = new Uint32Array(CHUNK_LENGTH);
    starts.rewind();
    for (let length = starts.read(chunk); length > 0; length = starts.read(chunk)) {
      for (let index = 0; index < length; index++) {
        const position = chunk[index] as number;
        const pair = this.#pairAt(position);
        const place = ends[pair] as number;
        ends[pair] = place + 1;
        positions[place] = position;
        if ((pair & 0xff) !== 0) scratch[place] = this.#keyAt(position + PAIR_BYTES);
      }
      this.meter.spend(8 * length);
    }
    return ends;
  }

  /** Returns the start of each pair's range. */
  #countPairs(starts: StartReader): Uint32Array {
    const counts = new Uint32Array(PAIRS + 1);
    const chunk = new Uint32Array(CHUNK_LENGTH);
    starts.rewind();
    for (let length = starts.read(chunk); length > 0; length = starts.read(chunk)) {
      for (let index = 0; index < length; index++)
        (counts[this.#pairAt(chunk[index] as number) + 1] as number)++;
      this.meter.spend(4 * length);
    }
    for (let pair = 1; pair < PAIRS; pair++)
      counts[pair] = (counts[pair] as number) + (counts[pair - 1] as number);
    return counts;
  }

  #pairAt(position: number): number {
    const first = this.forms[position] as number;
    return first === 0 ? 0 : (first << 8) | (this.forms[position + 1] as number);
  }

  #sortRange(start: number, end: number, common: number): void {
    this.#sortOrDefer(start, end, common);
    this.#sortPending();
  }

  /**
   * Reads the keys of all pending ranges before the first range is sorted: reads that do not wait for a sort are
   * faster.
   */
  #sortPending(): void {
    while (this.#pending.length > 0) {
      const ranges = this.#pending;
      this.#pending = [];
      for (let at = 0; at < ranges.length; at += 3) {
        this.#readKeys(ranges[at] as number, ranges[at + 1] as number, ranges[at + 2] as number);
      }
      for (let at = 0; at < ranges.length; at += 3) {
        this.#sortByKeys(ranges[at] as number, ranges[at + 1] as number, ranges[at + 2] as number);
      }
    }
  }

  #sortOrDefer(start: number, end: number, common: number): void {
    if (end - start < 2) return;
    if (common >= FIXED_DEPTH && this.deepSteps <= 0) this.groups.add(start, end);
    else if (end - start <= INSERTION_LENGTH) this.#sortByInsertion(start, end, common);
    else this.#pending.push(start, end, common);
  }

  /** Reads the four bytes after the common bytes. */
  #readKeys(start: number, end: number, common: number): void {
    const { positions, scratch } = this;
    for (let index = start; index < end; index++) {
      scratch[index] = this.#keyAt((positions[index] as number) + common);
      this.meter.spend(KEY_BYTES);
    }
    if (common >= FIXED_DEPTH) this.deepSteps -= end - start;
  }

  /** Sorts by the keys that were read before. Ranges with equal keys are sorted later. */
  #sortByKeys(start: number, end: number, common: number): void {
    const keys = this.scratch;
    this.#sorter.sort(start, end);
    for (let index = start; index < end;) {
      const first = index;
      const key = keys[first] as number;
      do {
        index += 1;
        this.meter.spend(1);
      } while (index < end && keys[index] === key);
      if (index - first === 1) continue;
      // The last byte of a key is zero if the form ends there.
      if ((key & 0xff) === 0) this.#sortRising(first, index);
      else this.#sortOrDefer(first, index, common + KEY_BYTES);
    }
  }

  /** Sorts equal positions by the positions themselves. */
  #sortRising(start: number, end: number): void {
    const { positions, scratch } = this;
    let isRising = true;
    for (let index = start; index < end; index++) {
      const position = positions[index] as number;
      scratch[index] = position;
      isRising &&= index === start || (positions[index - 1] as number) < position;
      this.meter.spend(1);
    }
    if (!isRising) this.#sorter.sort(start, end);
  }

  /** The next four bytes. Bytes after the end of the form count as zero. Without branches, which would be slow. */
  #keyAt(position: number): number {
    const { forms } = this;
    if (position + KEY_BYTES > forms.length) return this.#lastKeyAt(position);
    const first = forms[position] as number;
    const second = (forms[position + 1] as number) & maskOf(first);
    const third = (forms[position + 2] as number) & maskOf(second);
    const fourth = (forms[position + 3] as number) & maskOf(third);
    return ((first << 24) | (second << 16) | (third << 8) | fourth) >>> 0;
  }

  /** The key at a position near the end of all forms. */
  #lastKeyAt(position: number): number {
    let key = 0;
    for (let index = 0; index < KEY_BYTES; index++) {
      const byte = this.forms[position + index] ?? 0;
      if (byte === 0) break;
      key |= byte << (24 - 8 * index);
    }
    return key >>> 0;
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

/** Zero for a zero byte, else all bits. */
function maskOf(byte: number): number {
  return -((byte + 0xff) >> 8);
}
