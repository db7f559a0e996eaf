import type { CollectedRows } from './collector';
import { fillIdTable } from '../layer/id-table';
import type { EntryTable } from '../layer/layer';
import { packedSizeAt } from '../layer/packed-entry';
import type { WorkMeter } from '../work';

/** Shorter ranges are copied byte by byte. A view of a range costs more than that. */
const SHORT_BYTES = 64;

/** Fills the arrays of an entry table in the order of rank. */
export class TableWriter {
  #rank = 0;
  #formsEnd = 0;
  #entriesEnd = 0;

  constructor(
    private readonly table: EntryTable,
    private readonly meter: WorkMeter,
  ) {}

  /** Appends an entry of a collector. */
  addRow(rows: CollectedRows, row: number): void {
    const { table } = this;
    const entryAt = rows.entryAt[row] as number;
    table.scores[this.#rank] = rows.scoreOf(row);
    table.formsAt[this.#rank] = this.#formsEnd;
    table.entryAt[this.#rank] = this.#entriesEnd;
    this.#rank += 1;
    this.#addForms(rows.forms, rows.formsAt[row] as number, rows.formsAt[row + 1] as number);
    this.#addEntries(rows.entries, entryAt, entryAt + packedSizeAt(rows.entries, entryAt));
  }

  /** Appends the entries of a table between two ranks. */
  addRanks(from: EntryTable, start: number, end: number): void {
    if (start === end) return;
    const { table } = this;
    const formsStart = from.formsAt[start] as number;
    const entriesStart = from.entryAt[start] as number;
    for (let rank = start; rank < end; rank++) {
      const target = this.#rank + rank - start;
      table.scores[target] = from.scores[rank] as number;
      table.formsAt[target] = this.#formsEnd + (from.formsAt[rank] as number) - formsStart;
      table.entryAt[target] = this.#entriesEnd + (from.entryAt[rank] as number) - entriesStart;
    }
    this.#rank += end - start;
    const lastEntry = from.entryAt[end - 1] as number;
    this.#addForms(from.forms, formsStart, from.formsAt[end] as number);
    this.#addEntries(from.entries, entriesStart, lastEntry + packedSizeAt(from.entries, lastEntry));
  }

  /** Writes the end of the last form, and the table of ids. Called after all entries. */
  finish(): void {
    const { table } = this;
    table.formsAt[this.#rank] = this.#formsEnd;
    fillIdTable(table.ids, table, table.count, table.idSeed, this.meter);
  }

  #addForms(forms: Uint8Array, start: number, end: number): void {
    copyBytes(forms, start, end, this.table.forms, this.#formsEnd);
    this.#formsEnd += end - start;
    this.meter.spend(end - start);
  }

  #addEntries(entries: Uint8Array, start: number, end: number): void {
    copyBytes(entries, start, end, this.table.entries, this.#entriesEnd);
    this.#entriesEnd += end - start;
    this.meter.spend(end - start);
  }
}

function copyBytes(from: Uint8Array, start: number, end: number, to: Uint8Array, target: number): void {
  if (end - start >= SHORT_BYTES) {
    to.set(from.subarray(start, end), target);
    return;
  }
  for (let index = start; index < end; index++) to[target + index - start] = from[index] as number;
}
