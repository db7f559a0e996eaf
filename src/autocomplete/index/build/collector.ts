import { randomSeed } from '../../../base/text';
import type { Profile } from '../../suggestion';
import { fold } from '../../text/fold';
import { placeOfId, placesFor } from '../layer/id-table';
import type { EntryTable } from '../layer/layer';
import {
  compareForms,
  entryIdBytesAt,
  packedSize,
  packedSizeAt,
  recordAt,
  RecordCursor,
  recordStart,
  writePackedEntry,
} from '../layer/packed-entry';
import { grown, WorkMeter } from '../work';
import { CharacterFolds, characterLength, codePointAt, NOT_ALONE } from './characters';

const FIRST_BYTES = 1024;
/** The most bytes of folded form for each byte of a character that is in the table of `CharacterFolds`. */
const MAX_FOLDED_BYTES = 4;
const BYTE_BITS = 8;

/** Appends the folded forms of entries to one array. A zero byte ends each form. */
export class FormWriter {
  #bytes: Uint8Array;
  #length = 0;
  readonly #folds: CharacterFolds;

  constructor(
    private readonly accents: Profile['accents'],
    expectedBytes = FIRST_BYTES,
  ) {
    this.#bytes = new Uint8Array(expectedBytes);
    this.#folds = new CharacterFolds(accents);
  }

  /** The forms, and unused bytes after them. The array changes when it grows. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  get length(): number {
    return this.#length;
  }

  /** Appends the form of a text in UTF-8. */
  append(text: Uint8Array, from: number, to: number): void {
    if (!this.#appendByCharacters(text, from, to)) this.#appendAsWhole(text, from, to);
    this.#bytes[this.#length++] = 0;
  }

  /** Appends the form of an alias, unless the form is empty or equal to a form of the entry. */
  appendAlias(text: Uint8Array, from: number, to: number, entryStart: number): void {
    const start = this.#length;
    this.append(text, from, to);
    if (this.#bytes[start] === 0 || this.#isRepeated(start, entryStart)) this.#length = start;
  }

  /** Appends bytes that are already folded. There is room for one more byte afterwards. */
  appendForms(forms: Uint8Array, from: number, to: number): void {
    this.#reserve(to - from).set(forms.subarray(from, to), this.#length);
    this.#length += to - from;
  }

  /** False, and nothing is appended: a character of the text may fold differently beside other characters. */
  #appendByCharacters(text: Uint8Array, from: number, to: number): boolean {
    const bytes = this.#reserve(MAX_FOLDED_BYTES * (to - from));
    let length = this.#length;
    for (let at = from; at < to; at += characterLength(text[at] as number)) {
      let folded = this.#folds.bytesOf(codePointAt(text, at));
      if (folded === NOT_ALONE) return false;
      for (; folded !== 0; folded >>>= BYTE_BITS) bytes[length++] = folded;
    }
    this.#length = length;
    return true;
  }

  #appendAsWhole(text: Uint8Array, from: number, to: number): void {
    const folded = Buffer.from(fold(Buffer.from(text.subarray(from, to)).toString(), this.accents));
    this.appendForms(folded, 0, folded.length);
  }

  /** Grows the array if it has no room for this number of bytes and a zero byte. */
  #reserve(byteCount: number): Uint8Array {
    this.#bytes = grown(this.#bytes, this.#length + byteCount + 1);
    return this.#bytes;
  }

  /** True if the form at `start` is equal to a form between `entryStart` and `start`. */
  #isRepeated(start: number, entryStart: number): boolean {
    let form = entryStart;
    while (form < start) {
      if (compareForms(this.#bytes, form, this.#bytes, start) === 0) return true;
      form = this.#bytes.indexOf(0, form) + 1;
    }
    return false;
  }
}

/** The sizes for which the collector reserves memory at its start. A collector that gets more entries grows. */
export interface ExpectedEntries {
  readonly count: number;
  /** The bytes of all ids and records. */
  readonly bytes: number;
}

/** The collected entries by row, in the order of their arrival. A replaced or deleted entry keeps its row. */
export interface CollectedRows {
  readonly rowCount: number;
  /** The rows of the entries that were neither replaced nor deleted. */
  readonly isLive: (row: number) => boolean;
  /** Weight plus selections. */
  readonly scoreOf: (row: number) => number;
  readonly entries: Uint8Array;
  readonly entryAt: Uint32Array;
  readonly forms: Uint8Array;
  /** The first form of each row. One more element is the end of the last form. */
  readonly formsAt: Uint32Array;
}

const DEAD = -1;
const SMALL: ExpectedEntries = { count: 16, bytes: 1024 };

/**
 * Collects the entries of a layer before it is built. For entries with the same id the last call counts. The number of
 * JavaScript objects does not depend on the number of entries.
 */
export class EntryCollector {
  #entries: Uint8Array;
  #entriesEnd = 0;
  #entryAt: Uint32Array;
  #formsAt: Uint32Array;
  /** The number of selections by row; DEAD for a row that was replaced or deleted. */
  #selections: Float64Array;
  #rowCount = 0;
  #liveCount = 0;
  #liveEntryBytes = 0;
  #liveFormBytes = 0;
  /** From ids to rows (id-table.ts). The id of a deleted entry stays in the table with its dead row. */
  #ids: Uint32Array;
  readonly #seed = randomSeed();
  readonly #forms: FormWriter;
  readonly #cursor = new RecordCursor();
  readonly #meter = new WorkMeter();

  constructor(accents: Profile['accents'], expected: ExpectedEntries = SMALL) {
    const rows = Math.max(expected.count, SMALL.count);
    this.#entries = new Uint8Array(expected.bytes + packedSize(0, 0) * rows);
    this.#entryAt = new Uint32Array(rows);
    this.#formsAt = new Uint32Array(rows + 1);
    this.#selections = new Float64Array(rows);
    this.#ids = new Uint32Array(placesFor(rows));
    this.#forms = new FormWriter(accents, expected.bytes);
  }

  get entryCount(): number {
    return this.#liveCount;
  }

  /** The bytes of all packed entries (packed-entry.ts). */
  get entryBytes(): number {
    return this.#liveEntryBytes;
  }

  get formBytes(): number {
    return this.#liveFormBytes;
  }

  /** Adds or replaces an entry. Without a count, an entry that is known keeps its selections, and a new entry has none. */
  put(id: Uint8Array, record: Uint8Array, selectionCount?: number): void {
    const formsAt = this.#forms.length;
    const aliasCount = this.#cursor.open(record);
    this.#cursor.number();
    this.#forms.append(record, this.#cursor.text(), this.#cursor.position);
    for (let alias = 0; alias < aliasCount; alias++) {
      this.#forms.appendAlias(record, this.#cursor.text(), this.#cursor.position, formsAt);
    }
    this.#addRow(id, record, selectionCount);
  }

  /** Adds or replaces an entry by an entry of a layer with the same profile. Without a count, the layer's score stays. */
  add(table: EntryTable, rank: number, selectionCount?: number): void {
    const record = recordAt(table, rank);
    this.#cursor.open(record);
    const weight = this.#cursor.number();
    this.#forms.appendForms(table.forms, table.formsAt[rank] as number, table.formsAt[rank + 1] as number);
    this.#addRow(
      entryIdBytesAt(table, rank),
      record,
      selectionCount ?? (table.scores[rank] as number) - weight,
    );
  }

  /** False: there is no such entry. */
  delete(id: Uint8Array): boolean {
    const row = this.#rowOf(id);
    if (row < 0) return false;
    this.#markDead(row);
    return true;
  }

  /** Sets the number of selections. False: there is no such entry. */
  select(id: Uint8Array, selectionCount: number): boolean {
    const row = this.#rowOf(id);
    if (row < 0) return false;
    this.#selections[row] = selectionCount;
    return true;
  }

  /** For the builder of a layer. Valid until the collector changes. */
  rows(): CollectedRows {
    const entries = this.#entries;
    const entryAt = this.#entryAt;
    const selections = this.#selections;
    const cursor = new RecordCursor();
    return {
      rowCount: this.#rowCount,
      isLive: (row) => selections[row] !== DEAD,
      scoreOf: (row) => {
        cursor.open(entries, recordStart(entries, entryAt[row] as number), this.#entriesEnd);
        return cursor.number() + (selections[row] as number);
      },
      entries,
      entryAt,
      forms: this.#forms.bytes,
      formsAt: this.#formsAt,
    };
  }

  /** The row of the entry; -1: there is no such entry. */
  #rowOf(id: Uint8Array): number {
    const row = (this.#ids[this.#placeOf(id)] as number) - 1;
    return row >= 0 && this.#selections[row] !== DEAD ? row : -1;
  }

  #placeOf(id: Uint8Array): number {
    return placeOfId(this.#ids, { entries: this.#entries, entryAt: this.#entryAt }, this.#seed, id);
  }

  /** Adds the row of the forms that were appended last. */
  #addRow(id: Uint8Array, record: Uint8Array, selectionCount: number | undefined): void {
    const row = this.#rowCount;
    this.#reserve(row + 1, this.#entriesEnd + packedSize(id.length, record.length));
    const place = this.#placeOf(id);
    const earlier = (this.#ids[place] as number) - 1;
    let selections = selectionCount ?? 0;
    if (earlier >= 0 && this.#selections[earlier] !== DEAD) {
      selections = selectionCount ?? (this.#selections[earlier] as number);
      this.#markDead(earlier);
    }
    this.#entryAt[row] = this.#entriesEnd;
    this.#entriesEnd = writePackedEntry(this.#entries, this.#entriesEnd, id, record);
    this.#formsAt[row + 1] = this.#forms.length;
    this.#selections[row] = selections;
    this.#ids[place] = row + 1;
    this.#rowCount += 1;
    this.#count(row, 1);
  }

  #markDead(row: number): void {
    this.#selections[row] = DEAD;
    this.#count(row, -1);
  }

  #count(row: number, sign: 1 | -1): void {
    this.#liveCount += sign;
    this.#liveEntryBytes += sign * packedSizeAt(this.#entries, this.#entryAt[row] as number);
    this.#liveFormBytes += sign * ((this.#formsAt[row + 1] as number) - (this.#formsAt[row] as number));
  }

  #reserve(rowCount: number, entriesEnd: number): void {
    this.#entries = grown(this.#entries, entriesEnd);
    this.#entryAt = grown(this.#entryAt, rowCount);
    this.#formsAt = grown(this.#formsAt, rowCount + 1);
    this.#selections = grown(this.#selections, rowCount);
    if (placesFor(rowCount) <= this.#ids.length) return;
    this.#ids = new Uint32Array(2 * placesFor(rowCount));
    this.#refillIds();
  }

  /** Enters each id with its latest row. */
  #refillIds(): void {
    for (let row = 0; row < this.#rowCount; row++) {
      const id = entryIdBytesAt({ entries: this.#entries, entryAt: this.#entryAt }, row);
      this.#ids[this.#placeOf(id)] = row + 1;
    }
  }
}
