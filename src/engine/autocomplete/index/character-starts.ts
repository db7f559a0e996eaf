import { classOf, isWordStart, wordStartsBetween } from './character-classes';
import type { ListLengths } from './layer-memory';
import { characterLength, codePointAt, isContinuation } from './utf8';
import type { WorkMeter } from './work-meter';

/** Counts the elements of each list of positions (layer.ts). */
export function countStarts(forms: Uint8Array, from: number, to: number, meter: WorkMeter): ListLengths {
  let beginnings = 0;
  let wordStarts = 0;
  let otherStarts = 0;
  for (let at = from; at < to; at += 1) {
    beginnings += 1;
    let before = -1;
    while (forms[at] !== 0) {
      const after = classOf(codePointAt(forms, at));
      if (before >= 0) {
        if (wordStartsBetween(before, after)) wordStarts += 1;
        else otherStarts += 1;
      }
      before = after;
      at += characterLength(forms[at] as number);
      meter.spend(1);
    }
  }
  return { beginnings, wordStarts, otherStarts };
}

/** Writes the position of every character and of every empty form, in rising order. */
export function fillStarts(forms: Uint8Array, starts: Uint32Array, meter: WorkMeter): void {
  let count = 0;
  let before = 0;
  for (let at = 0; at < forms.length; at++) {
    const byte = forms[at] as number;
    const isStart = byte === 0 ? before === 0 : !isContinuation(byte);
    if (isStart) starts[count++] = at;
    before = byte;
    meter.spend(1);
  }
}

/**
 * Divides sorted positions into the three lists, which lie one after another in `starts` afterwards. Each list stays
 * sorted.
 */
export function splitStarts(
  forms: Uint8Array,
  starts: Uint32Array,
  lengths: ListLengths,
  scratch: Uint32Array,
  meter: WorkMeter,
): void {
  let beginning = 0;
  let wordStart = lengths.beginnings;
  let otherStart = wordStart + lengths.wordStarts;
  for (let index = 0; index < starts.length; index++) {
    const at = starts[index] as number;
    if (at === 0 || forms[at - 1] === 0) scratch[beginning++] = at;
    else if (isWordStart(forms, at)) scratch[wordStart++] = at;
    else scratch[otherStart++] = at;
    meter.spend(2);
  }
  starts.set(scratch.subarray(0, starts.length));
}
