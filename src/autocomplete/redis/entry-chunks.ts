import type { StoredEntry } from '../entry-store';
import { pack, packedTextBytes, type Packable } from './packing';

/**
 * Bounds of one chunk, which one script writes. A script of 100 puts takes 0.4 to 0.7 ms
 * (docs/design/decisions/021-entries-in-hash-buckets.md).
 */
const MOST_CHUNK_ENTRIES = 100;
const MOST_CHUNK_BYTES = 64 * 1024;

/**
 * If several entries have the same id, the last entry counts. Each chunk is packed when the caller asks for the chunk,
 * because the packing of 4 MiB at once would hold the main thread for several milliseconds.
 */
export function putChunks(entries: readonly StoredEntry[]): Generator<Buffer, undefined> {
  const last = new Map(entries.map((entry) => [entry.entryId, entry.record]));
  return chunks(last, ([entryId, record]) => [entryId, record]);
}

export function deleteChunks(entryIds: readonly string[]): Generator<Buffer, undefined> {
  return chunks(new Set(entryIds), (entryId) => [entryId]);
}

function* chunks<T>(
  items: Iterable<T>,
  valuesOf: (item: T) => readonly (string | Uint8Array)[],
): Generator<Buffer, undefined> {
  let values: Packable[] = [];
  let [count, bytes] = [0, 0];
  for (const item of items) {
    const own = valuesOf(item);
    const size = own.reduce((sum, value) => sum + packedTextBytes(value), 0);
    if (count > 0 && (count === MOST_CHUNK_ENTRIES || bytes + size > MOST_CHUNK_BYTES)) {
      yield pack(values);
      values = [];
      [count, bytes] = [0, 0];
    }
    values.push(...own);
    count += 1;
    bytes += size;
  }
  if (count > 0) yield pack(values);
}
