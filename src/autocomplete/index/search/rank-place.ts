import type { EntryTable } from '../layer/layer';
import { compareForms, entryIdBytesAt } from '../layer/packed-entry';

/** A place in the order of rank, between entries or at an entry. No entry needs to have these values. */
export interface RankPlace {
  readonly score: number;
  /** The folded text of the entry in UTF-8, and a zero byte. */
  readonly form: Uint8Array;
  /** The entry id in UTF-8. */
  readonly id: Uint8Array;
}

/** The rank of the entry with a form at this position. The rank is known to be at least `from`. */
export function rankAt(formsAt: Uint32Array, position: number, from = 0): number {
  let low = from;
  let high = formsAt.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if ((formsAt[middle] as number) <= position) low = middle;
    else high = middle;
  }
  return low;
}

/** The lowest rank after this place; the number of entries if there is none. */
export function firstRankAfter(table: EntryTable, place: RankPlace): number {
  let low = 0;
  let high = table.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (comparePlace(table, middle, place) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Negative: the entry comes before the place; 0: the entry has the values of the place. */
function comparePlace(table: EntryTable, rank: number, { score, form, id }: RankPlace): number {
  const byScore = score - (table.scores[rank] as number);
  if (byScore !== 0) return byScore;
  const byForm = compareForms(table.forms, table.formsAt[rank] as number, form, 0);
  if (byForm !== 0) return byForm;
  return Buffer.compare(entryIdBytesAt(table, rank), id);
}

/** UTF-8 and a zero byte, as a form lies in a table. */
export function formOf(folded: string): Buffer {
  return Buffer.from(`${folded}\0`);
}
