import type { EntryTable } from '../layer/layer';
import { compareForms, compareIds, entryIdBytesAt } from '../layer/packed-entry';
import { formOf } from './rank-place';

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
