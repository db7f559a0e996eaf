import { isContinuation } from '../build/characters';
import { CharacterStarts, ListedStarts } from '../build/starts';
import type { WorkMeter } from '../work';
import { EqualGroups, KeySorter } from './key-sorter';
import { FIXED_DEPTH, PrefixSort } from './prefix-sort';

/** A character has at most this number of bytes after its first byte. */
const MAX_CONTINUATION = 3;

/**
 * Sorts the groups of positions with equal bytes. `positions` contains every character and every empty form, and is
 * sorted except in the groups.
 *
 * The rank of a position is its index in `positions`, or the index of its group's first element. Positions of a group
 * have `equalBytes` bytes in common, so a character begins at the same distance from each position, near the end of
 * the common bytes. The ranks of these characters are the order of the group. Characters with the same rank have
 * `equalBytes` bytes in common as well, so the common bytes about double with each round. Ends of forms have ranks in
 * the order of their positions, below the ranks of all characters. So equal bytes are in the order of positions, and no
 * group is left at the end.
 */
export function sortGroups(
  forms: Uint8Array,
  positions: Uint32Array,
  scratch: Uint32Array,
  equalGroups: { readonly groups: EqualGroups; readonly equalBytes: number },
  meter: WorkMeter,
): void {
  const ranks = initialRanks(forms, positions, equalGroups.groups, meter);
  const sorter = new KeySorter(scratch, positions, meter);
  let { groups, equalBytes } = equalGroups;
  while (groups.count > 0) {
    const rest = new EqualGroups();
    for (let group = 0; group < groups.count; group++) {
      const [start, end] = [groups.start(group), groups.end(group)];
      const distance = characterDistance(forms, positions[start] as number, equalBytes);
      for (let index = start; index < end; index++) {
        scratch[index] = ranks[(positions[index] as number) + distance] as number;
        meter.spend(2);
      }
      sorter.sort(start, end);
      splitGroup(positions, scratch, ranks, start, end, rest, meter);
    }
    groups = rest;
    equalBytes = 2 * equalBytes - MAX_CONTINUATION;
  }
}

function initialRanks(
  forms: Uint8Array,
  positions: Uint32Array,
  groups: EqualGroups,
  meter: WorkMeter,
): Uint32Array {
  const ranks = new Uint32Array(forms.length);
  for (let at = 0; at < forms.length; at++) {
    if (forms[at] === 0) ranks[at] = at;
    meter.spend(1);
  }
  for (let index = 0; index < positions.length; index++) {
    const position = positions[index] as number;
    if (forms[position] !== 0) ranks[position] = forms.length + index;
    meter.spend(2);
  }
  for (let group = 0; group < groups.count; group++) {
    const start = groups.start(group);
    for (let index = start; index < groups.end(group); index++) {
      ranks[positions[index] as number] = forms.length + start;
      meter.spend(2);
    }
  }
  return ranks;
}

/** The distance to the last character that begins at most `equalBytes` after the position. */
function characterDistance(forms: Uint8Array, position: number, equalBytes: number): number {
  let distance = equalBytes;
  while (isContinuation(forms[position + distance] as number)) distance -= 1;
  return distance;
}

/** Divides a sorted group by its keys, and gives new ranks to the parts. */
function splitGroup(
  positions: Uint32Array,
  keys: Uint32Array,
  ranks: Uint32Array,
  start: number,
  end: number,
  rest: EqualGroups,
  meter: WorkMeter,
): void {
  const firstRank = ranks[positions[start] as number] as number;
  for (let index = start; index < end;) {
    const first = index;
    const key = keys[first];
    const rank = firstRank + first - start;
    do {
      ranks[positions[index] as number] = rank;
      index += 1;
      meter.spend(2);
    } while (index < end && keys[index] === key);
    if (index - first > 1) rest.add(first, index);
  }
}

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
