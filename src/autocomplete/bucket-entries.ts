/**
 * Reads the packed buckets of an `EntryStore`: msgpack arrays of field, value, field, value and so on, one array for each
 * bucket. The field of a record is the entry's id. The field of selections is the byte 1 and the entry's id, and its value
 * is a decimal number.
 */

const SELECTIONS_MARK = 1;

/** The first byte of an array of up to 15 values. The low bits are their number. An empty array may be an empty map. */
const SHORT_ARRAY = 0x90;
const EMPTY_MAP = 0x80;
/** The number of values follows in 2 or 4 bytes. */
const ARRAY_16 = 0xdc;
const ARRAY_32 = 0xdd;
/** The first byte of a text of up to 31 bytes. The low bits are its length. */
const SHORT_TEXT = 0xa0;
const LONGEST_SHORT_TEXT = 31;
/** The length follows in 1, 2 or 4 bytes. */
const TEXT_8 = 0xd9;
const TEXT_16 = 0xda;
const TEXT_32 = 0xdb;

/** The position of an entry in `bytes`. The same object serves all entries, and is valid during the callback only. */
export interface BucketEntry {
  readonly bytes: Buffer;
  readonly idStart: number;
  readonly idEnd: number;
  readonly recordStart: number;
  readonly recordEnd: number;
  readonly selectionCount: number;
}

/** Calls `onEntry` for each entry of the packed buckets. Makes no object for an entry. */
export function readBucketEntries(packed: Uint8Array, onEntry: (entry: BucketEntry) => void): void {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.length);
  const reader = new BucketReader(bytes);
  while (reader.openBucket()) while (reader.nextEntry()) onEntry(reader);
}

class BucketReader implements BucketEntry {
  idStart = 0;
  idEnd = 0;
  recordStart = 0;
  recordEnd = 0;
  selectionCount = 0;
  #at = 0;
  #left = 0;
  /** The selections of a bucket by entry id. Read before the entries, because they may follow the entries. */
  readonly #selections = new Map<string, number>();

  constructor(readonly bytes: Buffer) {}

  /** False: no bucket is left. */
  openBucket(): boolean {
    if (this.#at >= this.bytes.length) return false;
    this.#readArrayHead();
    const [at, left] = [this.#at, this.#left];
    this.#selections.clear();
    while (this.#nextField()) {
      if (this.bytes[this.idStart] !== SELECTIONS_MARK) continue;
      const id = this.bytes.toString('latin1', this.idStart + 1, this.idEnd);
      this.#selections.set(id, Number(this.bytes.toString('latin1', this.recordStart, this.recordEnd)));
    }
    [this.#at, this.#left] = [at, left];
    return true;
  }

  nextEntry(): boolean {
    while (this.#nextField()) {
      if (this.bytes[this.idStart] === SELECTIONS_MARK) continue;
      this.selectionCount =
        this.#selections.size === 0
          ? 0
          : (this.#selections.get(this.bytes.toString('latin1', this.idStart, this.idEnd)) ?? 0);
      return true;
    }
    return false;
  }

  /** False: no field of the bucket is left. */
  #nextField(): boolean {
    if (this.#left === 0) return false;
    this.#left -= 2;
    this.idStart = this.#readTextHead();
    this.idEnd = this.#at;
    this.recordStart = this.#readTextHead();
    this.recordEnd = this.#at;
    return true;
  }

  #readArrayHead(): void {
    const { bytes } = this;
    const kind = bytes.readUInt8(this.#at);
    if (kind === ARRAY_16) {
      this.#left = bytes.readUInt16BE(this.#at + 1);
      this.#at += 3;
    } else if (kind === ARRAY_32) {
      this.#left = bytes.readUInt32BE(this.#at + 1);
      this.#at += 5;
    } else if (kind === EMPTY_MAP || (kind & 0xf0) === SHORT_ARRAY) {
      this.#left = kind & 0x0f;
      this.#at += 1;
    } else {
      throw new Error(`a packed bucket cannot begin with the byte ${kind}`);
    }
  }

  /** Moves behind the next text. Returns where the text starts. */
  #readTextHead(): number {
    const { bytes } = this;
    const kind = bytes.readUInt8(this.#at);
    let start = this.#at + 1;
    let size = kind - SHORT_TEXT;
    if (kind === TEXT_8) {
      size = bytes.readUInt8(start);
      start += 1;
    } else if (kind === TEXT_16) {
      size = bytes.readUInt16BE(start);
      start += 2;
    } else if (kind === TEXT_32) {
      size = bytes.readUInt32BE(start);
      start += 4;
    } else if (size < 0 || size > LONGEST_SHORT_TEXT) {
      throw new Error(`a packed text cannot begin with the byte ${kind}`);
    }
    this.#at = start + size;
    return start;
  }
}
