import { sortGroups } from './prefix-doubling';
import { FIXED_DEPTH, PrefixSort } from './prefix-sort';
import type { WorkMeter } from './work-meter';

/**
 * The steps beyond FIXED_DEPTH for each position. A few long texts with long common beginnings are sorted without the
 * memory for ranks. Many such texts are cheaper with it.
 */
const DEEP_STEPS = 8;

/**
 * Sorts all positions of characters and empty forms by the bytes from there to the end of the form, and equal bytes by
 * position. The number of steps is bounded for any forms: about `n log n`, also for repeated and periodic forms.
 *
 * `positions` are in rising order before. `scratch` is as long as `positions`.
 */
export function sortSuffixes(
  forms: Uint8Array,
  positions: Uint32Array,
  scratch: Uint32Array,
  meter: WorkMeter,
): void {
  const sort = new PrefixSort(forms, positions, scratch, meter, DEEP_STEPS * positions.length);
  sort.sort();
  const { groups } = sort;
  if (groups.count > 0) sortGroups(forms, positions, scratch, { groups, equalBytes: FIXED_DEPTH }, meter);
}

/**
 * Sorts the beginnings of forms by their bytes, and equal forms by position. Forms do not overlap, so the number of
 * steps is bounded by the bytes of all forms, to any depth.
 */
export function sortForms(
  forms: Uint8Array,
  beginnings: Uint32Array,
  scratch: Uint32Array,
  meter: WorkMeter,
): void {
  new PrefixSort(forms, beginnings, scratch, meter, Infinity).sort();
}
