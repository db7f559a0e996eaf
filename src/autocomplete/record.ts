import type { Clock } from '../base/clock';
import { Slices } from '../flow/turns';
import { idStart, packedSize, packedSizeAt, recordStart, writePackedEntry } from './index/layer/packed-entry';
import type { Entry, StoredEntry } from './suggestion';

/**
 * A record is an entry without its id, as the store keeps it:
 *
 *   the number of aliases (1 byte), weight, length of the text, text, then length and text of each alias, payload
 *
 * Weights and lengths are numbers of 1 to 8 bytes, with 7 bits in each byte, the lowest first. The highest bit of a byte
 * says that another byte follows. Texts are UTF-8. A record of a short text is 3 bytes longer than the text.
 */

/** More than any record has: 17 texts of 512 bytes, their lengths, a weight and a payload of 1 KiB. */
export const MAX_RECORD_BYTES = 16 * 1024;

const LOW_BITS = 0x7f;
const MORE = 0x80;

export function packEntry(entry: Entry): StoredEntry {
  return { entryId: entry.entryId, record: packRecord(entry) };
}

export function packRecord({ text, aliases, weight, payload }: Omit<Entry, 'entryId'>): Buffer {
  const texts = [text, ...aliases];
  const byteLengths = texts.map((one) => Buffer.byteLength(one));
  const size = byteLengths.reduce((sum, length) => sum + sizeOf(length) + length, 1 + sizeOf(weight));
  const record = Buffer.allocUnsafe(size + payload.length);
  record[0] = aliases.length;
  let at = writeNumber(record, 1, weight);
  texts.forEach((one, index) => {
    at = writeNumber(record, at, byteLengths[index] as number);
    at += record.write(one, at);
  });
  record.set(payload, at);
  return record;
}

export function unpackRecord(record: Uint8Array): Omit<Entry, 'entryId'> {
  return unpackRecordAt(Buffer.from(record.buffer, record.byteOffset, record.length), 0, record.length);
}

/** Unpacks the record between two positions. */
export function unpackRecordAt(bytes: Buffer, start: number, end: number): Omit<Entry, 'entryId'> {
  const reader = new RecordReader(bytes, start, end);
  const weight = reader.number();
  const text = reader.text();
  const aliases: string[] = [];
  for (let left = bytes[start] ?? 0; left > 0; left -= 1) aliases.push(reader.text());
  const payload = reader.rest();
  return { text, aliases, weight, payload: payload === EMPTY ? payload : Buffer.from(payload) };
}

const EMPTY = Buffer.alloc(0);

/** Reads the parts of the record between two positions in their order: weight, text, aliases, payload. */
class RecordReader {
  #at: number;

  constructor(
    private readonly bytes: Buffer,
    start: number,
    private readonly end: number,
  ) {
    this.#at = start + 1;
  }

  number(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.bytes[this.#at++] ?? 0;
      value += (byte & LOW_BITS) * scale;
      if (byte < MORE) return value;
      scale *= MORE;
    }
  }

  text(): string {
    const length = this.number();
    this.#at += length;
    return this.bytes.toString('utf8', this.#at - length, this.#at);
  }

  rest(): Buffer {
    return this.#at === this.end ? EMPTY : this.bytes.subarray(this.#at, this.end);
  }
}

function sizeOf(number: number): number {
  let size = 1;
  for (let rest = number; rest >= MORE; rest = Math.floor(rest / MORE)) size += 1;
  return size;
}

/** Returns the position after the number. */
function writeNumber(record: Buffer, start: number, number: number): number {
  let at = start;
  let rest = number;
  for (; rest >= MORE; rest = Math.floor(rest / MORE)) record[at++] = (rest % MORE) | MORE;
  record[at++] = rest;
  return at;
}

/** Entries that go from one thread to another: packed entries (packed-entry.ts) one after the other. */

/** The memory belongs to no pool, so a thread can transfer the memory. */
export function packBatch(entries: readonly StoredEntry[]): Uint8Array<ArrayBuffer> {
  const ids = entries.map(({ entryId }) => Buffer.from(entryId));
  const size = entries.reduce(
    (sum, { record }, index) => sum + packedSize((ids[index] as Buffer).length, record.length),
    0,
  );
  const packed = new Uint8Array(size);
  let at = 0;
  entries.forEach(({ record }, index) => {
    at = writePackedEntry(packed, at, ids[index] as Buffer, record);
  });
  return packed;
}

/** Reads the entries in slices, so that other calls run in between. The records are views of `packed`. */
export async function unpackBatch(packed: Uint8Array, clock: Clock): Promise<StoredEntry[]> {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.length);
  const slices = new Slices(clock);
  const entries: StoredEntry[] = [];
  for (let at = 0; at < bytes.length; at += packedSizeAt(bytes, at)) {
    if (slices.isOver) await slices.pause();
    entries.push(unpackEntry(bytes, at));
  }
  return entries;
}

function unpackEntry(bytes: Buffer, at: number): StoredEntry {
  const record = recordStart(bytes, at);
  return {
    entryId: bytes.toString('utf8', idStart(at), record),
    record: bytes.subarray(record, at + packedSizeAt(bytes, at)),
  };
}
