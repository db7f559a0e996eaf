import type { Clock } from '../base/clock';
import { idStart, packedSize, packedSizeAt, recordStart, writePackedEntry } from './index/layer/packed-entry';
import { Slices } from '../flow/slices';
import type { StoredEntry } from './suggestion';

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
