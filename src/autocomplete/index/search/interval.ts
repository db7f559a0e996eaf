import type { SortedPositions } from '../layer/layer';

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
export function endOfWhole(forms: Uint8Array, { list, from, to }: Interval, length: number): number {
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
