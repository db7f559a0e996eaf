import { sortGroups } from './prefix-doubling';
import { FIXED_DEPTH, PrefixSort } from './prefix-sort';
import { CharacterStarts, ListedStarts } from '../build/start-readers';
import type { WorkMeter } from '../work-meter';

/**
 * The steps beyond FIXED_DEPTH for each position. A few long texts with long common beginnings are sorted without the
 * memory for ranks. Many such texts are sorted faster with this memory.
 */
const DEEP_STEPS = 8;

/**
 * Writes all positions of characters and empty forms into `positions`, sorted by the bytes from there to the end of the
 * form, and equal bytes by position. The number of steps is bounded for any forms: about `n log n`, also for repeated
 * and periodic forms. `scratch` is as long as `positions`.
 */
export function sortSuffixes(
  forms: Uint8Array,
  positions: Uint32Array,
  scratch: Uint32Array,
  meter: WorkMeter,
): void {
  const sort = new PrefixSort(forms, positions, scratch, meter, DEEP_STEPS * positions.length);
  sort.sort(new CharacterStarts(forms, positions.length));
  const { groups } = sort;
  if (groups.count > 0) sortGroups(forms, positions, scratch, { groups, equalBytes: FIXED_DEPTH }, meter);
}

/**
 * Returns the beginnings of forms sorted by the bytes of the forms, and equal forms by position. The beginnings are in
 * rising order before. Forms do not overlap, so the number of steps is bounded by the bytes of all forms.
 */
export function sortForms(forms: Uint8Array, beginnings: Uint32Array, meter: WorkMeter): Uint32Array {
  const { length } = beginnings;
  const sorted = new Uint32Array(length);
  new PrefixSort(forms, sorted, new Uint32Array(length), meter, Infinity).sort(new ListedStarts(beginnings));
  return sorted;
}
