import type { EntryTable } from '../layer/layer';
import { compareForms, compareIds, entryIdBytesAt } from '../layer/packed-entry';

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

/** A place in the order of ListEntries: by folded text, then by entry id, both by the bytes of UTF-8. */
export interface TextPlace {
  /** Folded. */
  readonly text: string;
  readonly entryId: string;
}

/** The entries that a page of ListEntries can contain. */
export class TextRange {
  /** The lowest folded text, and a zero byte. */
  readonly lowest: Buffer;
  /** The folded text above all texts of the range, and a zero byte; undefined: no bound. */
  readonly bound: Buffer | undefined;
  readonly #after: { readonly form: Buffer; readonly id: Buffer } | undefined;

  /** From `from` and before `to`, both folded. An empty `to` is no bound. Only entries after the place `after`. */
  constructor(from: string, to: string, after: TextPlace | undefined) {
    const low = formOf(from);
    this.#after = after && { form: formOf(after.text), id: Buffer.from(after.entryId) };
    this.lowest = this.#after && compareForms(this.#after.form, 0, low, 0) > 0 ? this.#after.form : low;
    this.bound = to === '' ? undefined : formOf(to);
  }

  contains(table: EntryTable, rank: number): boolean {
    const form = table.formsAt[rank] as number;
    if (compareForms(table.forms, form, this.lowest, 0) < 0) return false;
    if (this.bound && compareForms(table.forms, form, this.bound, 0) >= 0) return false;
    return Buffer.compare(entryIdBytesAt(table, rank), this.idBefore(table.forms, form)) > 0;
  }

  /** An entry with this form as its text belongs to the range if the id of the entry is higher than this id. */
  idBefore(forms: Uint8Array, form: number): Buffer {
    const isSame = this.#after && compareForms(forms, form, this.#after.form, 0) === 0;
    return isSame && this.#after ? this.#after.id : NO_ID;
  }
}

/** Every entry id is higher. */
const NO_ID = Buffer.alloc(0);

/** The order of two entries of any tables by folded text and id. 0 only for entries with the same id. */
export function compareByText(a: EntryTable, rankA: number, b: EntryTable, rankB: number): number {
  const byText = compareForms(a.forms, a.formsAt[rankA] as number, b.forms, b.formsAt[rankB] as number);
  return byText || compareIds(a.entries, a.entryAt[rankA] as number, b.entries, b.entryAt[rankB] as number);
}
