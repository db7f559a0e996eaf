import type { EntryTable } from './layer';

/**
 * An entry lies in the array `entries` as
 *
 *   length of the id (2 bytes), length of the record (2 bytes), id, record
 *
 * Lengths have the low byte first. record.ts describes the record. Its longest length fits into 2 bytes.
 */

const HEADER_BYTES = 4;
const RECORD_LENGTH_AT = 2;

/** The packed entries of a table by rank, or of a collector by row. */
export interface PackedEntries {
  readonly entries: Uint8Array;
  readonly entryAt: Uint32Array;
}

export function packedSize(idLength: number, recordLength: number): number {
  return HEADER_BYTES + idLength + recordLength;
}

/** Returns the position after the entry. */
export function writePackedEntry(
  entries: Uint8Array,
  at: number,
  id: Uint8Array,
  record: Uint8Array,
): number {
  writeLength(entries, at, id.length);
  writeLength(entries, at + RECORD_LENGTH_AT, record.length);
  entries.set(id, at + HEADER_BYTES);
  entries.set(record, at + HEADER_BYTES + id.length);
  return at + packedSize(id.length, record.length);
}

/** The number of bytes of the packed entry at this position. */
export function packedSizeAt(entries: Uint8Array, at: number): number {
  return packedSize(lengthAt(entries, at), lengthAt(entries, at + RECORD_LENGTH_AT));
}

/** The position of the record of the packed entry at this position. */
export function recordStart(entries: Uint8Array, at: number): number {
  return at + HEADER_BYTES + lengthAt(entries, at);
}

/** The id of an entry: a view of the table's bytes, not a copy. */
export function entryIdBytesAt({ entries, entryAt }: PackedEntries, rank: number): Uint8Array {
  const at = entryAt[rank] as number;
  return entries.subarray(at + HEADER_BYTES, at + HEADER_BYTES + lengthAt(entries, at));
}

/** The record of an entry: a view of the table's bytes, not a copy. */
export function recordAt({ entries, entryAt }: PackedEntries, rank: number): Uint8Array {
  const at = entryAt[rank] as number;
  return entries.subarray(recordStart(entries, at), at + packedSizeAt(entries, at));
}

export function hasId(entries: Uint8Array, at: number, id: Uint8Array): boolean {
  if (lengthAt(entries, at) !== id.length) return false;
  for (let index = 0; index < id.length; index++) {
    if (entries[at + HEADER_BYTES + index] !== id[index]) return false;
  }
  return true;
}

/** The order of two ids by their bytes: negative if the first id comes first, 0 if the ids are equal. */
export function compareIds(a: Uint8Array, atA: number, b: Uint8Array, atB: number): number {
  const lengthA = lengthAt(a, atA);
  const lengthB = lengthAt(b, atB);
  const common = Math.min(lengthA, lengthB);
  for (let index = HEADER_BYTES; index < HEADER_BYTES + common; index++) {
    const difference = (a[atA + index] as number) - (b[atB + index] as number);
    if (difference !== 0) return difference;
  }
  return lengthA - lengthB;
}

/** The order of two forms by their bytes. A zero byte ends each form. */
export function compareForms(a: Uint8Array, atA: number, b: Uint8Array, atB: number): number {
  for (let index = 0; ; index++) {
    const byteA = a[atA + index] as number;
    const byteB = b[atB + index] as number;
    if (byteA !== byteB) return byteA - byteB;
    if (byteA === 0) return 0;
  }
}

/**
 * The order of two entries of any tables: negative if the first entry has the better rank. 0 only for entries with the
 * same id.
 */
export function compareEntries(a: EntryTable, rankA: number, b: EntryTable, rankB: number): number {
  const byScore = (b.scores[rankB] as number) - (a.scores[rankA] as number);
  if (byScore !== 0) return byScore;
  const byText = compareForms(a.forms, a.formsAt[rankA] as number, b.forms, b.formsAt[rankB] as number);
  if (byText !== 0) return byText;
  return compareIds(a.entries, a.entryAt[rankA] as number, b.entries, b.entryAt[rankB] as number);
}

export function idLengthAt(entries: Uint8Array, at: number): number {
  return lengthAt(entries, at);
}

/** The position of the id's first byte in the packed entry at this position. */
export function idStart(at: number): number {
  return at + HEADER_BYTES;
}

function lengthAt(entries: Uint8Array, at: number): number {
  return (entries[at] as number) | ((entries[at + 1] as number) << 8);
}

function writeLength(entries: Uint8Array, at: number, length: number): void {
  entries[at] = length & 0xff;
  entries[at + 1] = length >> 8;
}

const LOW_BITS = 0x7f;
const MORE = 0x80;

/**
 * Reads the numbers and texts of a record in their order (record.ts), without a copy. One cursor can read many
 * records.
 */
export class RecordCursor {
  #bytes: Uint8Array = new Uint8Array();
  #end = 0;
  /** The position of the next number or text. */
  #at = 0;

  /** Returns the number of aliases. */
  open(bytes: Uint8Array, from = 0, to = bytes.length): number {
    this.#bytes = bytes;
    this.#at = from + 1;
    this.#end = to;
    return to > from ? (bytes[from] as number) : this.#damaged();
  }

  number(): number {
    let value = 0;
    for (let scale = 1; ; scale *= MORE) {
      if (this.#at >= this.#end) this.#damaged();
      const byte = this.#bytes[this.#at++] as number;
      value += (byte & LOW_BITS) * scale;
      if (byte < MORE) return value;
    }
  }

  /** Skips a text and returns the position of its first byte. The text ends at `position`. */
  text(): number {
    const length = this.number();
    const from = this.#at;
    this.#at += length;
    return this.#at <= this.#end ? from : this.#damaged();
  }

  get position(): number {
    return this.#at;
  }

  #damaged(): never {
    throw new RangeError('A record of a dictionary entry is damaged.');
  }
}
