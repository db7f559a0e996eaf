import { classOf, LETTER_OR_DIGIT, wordStartsBetween } from './character-classes';
import { copyInSlices } from './copy-in-slices';
import type { ListLengths } from '../layer/layer-memory';
import { characterLength, codePointAt } from './utf8';
import type { WorkMeter } from '../work-meter';

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
