import { hashId } from '../../../base/text';
import type { EntryTable } from './layer';
import { hasId, idLengthAt, idStart, type PackedEntries } from './packed-entry';
import type { WorkMeter } from '../work';

/**
 * A hash table from entry ids to numbers of entries: ranks of an entry table, or rows of a collector. A place holds the
 * number plus 1, or 0 if the place is free. An id lies at the place of its hash, or after that place with no free place
 * between. At most two thirds of the places are taken, so a search looks at about two places.
 */

const HASH_RANGE = 2 ** 32;
/** Places per entry. */
const PLACES = 1.5;
const FREE = 0;

/** The size of a table for this number of ids. At least one place stays free, because a search ends at a free place. */
export function placesFor(idCount: number): number {
  return Math.ceil(idCount * PLACES) + 1;
}

/** The rank of the entry with this id; -1: the table has no such entry. */
export function rankOfId({ ids, entries, entryAt, idSeed }: EntryTable, id: Uint8Array): number {
  return (ids[placeOfId(ids, { entries, entryAt }, idSeed, id)] as number) - 1;
}

/** The place of the id, or the free place where the id belongs. */
export function placeOfId(ids: Uint32Array, packed: PackedEntries, seed: number, id: Uint8Array): number {
  let place = firstPlace(ids, hashId(id, 0, id.length, seed));
  for (;;) {
    const taken = ids[place] as number;
    if (taken === FREE) return place;
    if (hasId(packed.entries, packed.entryAt[taken - 1] as number, id)) return place;
    place = after(place, ids);
  }
}

/** Writes the whole table for the entries 0 to count - 1. No two of them have the same id. */
export function fillIdTable(
  ids: Uint32Array,
  { entries, entryAt }: PackedEntries,
  count: number,
  seed: number,
  meter: WorkMeter,
): void {
  ids.fill(FREE);
  for (let entry = 0; entry < count; entry++) {
    const at = entryAt[entry] as number;
    ids[freePlace(ids, hashId(entries, idStart(at), idLengthAt(entries, at), seed))] = entry + 1;
    meter.spend(ID_STEPS);
  }
}

/** The work of one id in steps of a work meter. */
const ID_STEPS = 16;

function freePlace(ids: Uint32Array, hash: number): number {
  let place = firstPlace(ids, hash);
  while (ids[place] !== FREE) place = after(place, ids);
  return place;
}

/** Spreads the hashes evenly over the places, also if their number is no power of 2. */
function firstPlace(ids: Uint32Array, hash: number): number {
  return Math.floor((hash * ids.length) / HASH_RANGE);
}

function after(place: number, ids: Uint32Array): number {
  return place + 1 === ids.length ? 0 : place + 1;
}
