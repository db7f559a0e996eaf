import { compareForms } from './packed-entry';

/** Sorts positions in `forms` by the bytes from there to the end of the form, and equal bytes by position. */
export function sortSuffixes(forms: Uint8Array, positions: Uint32Array): void {
  positions.sort((a, b) => compareForms(forms, a, forms, b) || a - b);
}
