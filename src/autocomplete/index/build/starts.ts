import type { ListLengths } from '../layer/layer-memory';
import type { WorkMeter } from '../work';
import {
  characterLength,
  classOf,
  codePointAt,
  isContinuation,
  LETTER_OR_DIGIT,
  wordStartsBetween,
} from './characters';

/** 256 KiB are copied within 0.1 ms. */
const SLICE_LENGTH = 1 << 16;
/** A copied number costs much less than a step of a work meter. */
const NUMBERS_OF_A_STEP = 8;

/** Copies a long array. Both arrays have the same length. */
function copyInSlices(from: Uint32Array, to: Uint32Array, meter: WorkMeter): void {
  for (let start = 0; start < from.length; start += SLICE_LENGTH) {
    const slice = from.subarray(start, start + SLICE_LENGTH);
    to.set(slice, start);
    meter.spend(slice.length / NUMBERS_OF_A_STEP);
  }
}

/** A set of positions in an array of forms: one bit for each byte. */
export class PositionSet {
  readonly #bits: Uint8Array;

  constructor(byteCount: number) {
    this.#bits = new Uint8Array(Math.ceil(byteCount / 8));
  }

  add(position: number): void {
    this.#bits[position >>> 3] = (this.#bits[position >>> 3] as number) | (1 << (position & 7));
  }

  has(position: number): boolean {
    return ((this.#bits[position >>> 3] as number) & (1 << (position & 7))) !== 0;
  }
}

/** Counts the elements of each list of positions (layer.ts). */
export class StartCounter implements ListLengths {
  beginnings = 0;
  wordStarts = 0;
  otherStarts = 0;

  /** Without `found`, positions are only counted. `found` gets the beginnings of forms and the word starts. */
  constructor(private readonly found?: PositionSet) {}

  /** Counts the forms between two positions. */
  count(forms: Uint8Array, from: number, to: number): void {
    for (let at = from; at < to; at++) {
      this.beginnings += 1;
      this.found?.add(at);
      let before = LETTER_OR_DIGIT;
      for (const first = at; forms[at] !== 0; at += characterLength(forms[at] as number)) {
        const after = classOf(codePointAt(forms, at));
        if (wordStartsBetween(before, after)) {
          this.wordStarts += 1;
          this.found?.add(at);
        } else if (at > first) {
          this.otherStarts += 1;
        }
        before = after;
      }
    }
  }
}

/**
 * Divides sorted positions into the three lists, which lie one after another in `starts` afterwards. Each list stays
 * sorted. `scratch` is as long as `starts`.
 */
export function splitStarts(
  forms: Uint8Array,
  starts: Uint32Array,
  { beginnings, wordStarts }: ListLengths,
  found: PositionSet,
  scratch: Uint32Array,
  meter: WorkMeter,
): void {
  let beginning = 0;
  let wordStart = beginnings;
  let otherStart = beginnings + wordStarts;
  for (let index = 0; index < starts.length; index++) {
    const at = starts[index] as number;
    if (!found.has(at)) scratch[otherStart++] = at;
    else if (at === 0 || forms[at - 1] === 0) scratch[beginning++] = at;
    else scratch[wordStart++] = at;
    meter.spend(2);
  }
  copyInSlices(scratch, starts, meter);
}

/** Reads positions in rising order. */
export interface StartReader {
  /** The number of all positions. */
  readonly count: number;
  /** Begins again with the first position. */
  rewind(): void;
  /** Writes the next positions into `chunk`. Returns their number; 0 at the end. */
  read(chunk: Uint32Array): number;
}

/** Reads the position of every character and of every empty form. */
export class CharacterStarts implements StartReader {
  #at = 0;

  constructor(
    private readonly forms: Uint8Array,
    readonly count: number,
  ) {}

  rewind(): void {
    this.#at = 0;
  }

  read(chunk: Uint32Array): number {
    const { forms } = this;
    let before = this.#at === 0 ? 0 : (forms[this.#at - 1] as number);
    let length = 0;
    let at = this.#at;
    for (; at < forms.length && length < chunk.length; at++) {
      const byte = forms[at] as number;
      if (byte === 0 ? before === 0 : !isContinuation(byte)) chunk[length++] = at;
      before = byte;
    }
    this.#at = at;
    return length;
  }
}

/** Reads the positions of a list. */
export class ListedStarts implements StartReader {
  #next = 0;

  constructor(private readonly starts: Uint32Array) {}

  get count(): number {
    return this.starts.length;
  }

  rewind(): void {
    this.#next = 0;
  }

  read(chunk: Uint32Array): number {
    const part = this.starts.subarray(this.#next, this.#next + chunk.length);
    chunk.set(part);
    this.#next += part.length;
    return part.length;
  }
}
