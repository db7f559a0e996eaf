import type { StoredEntry } from '../suggestion';

/** A number of entries, and the bytes of their ids and records. */
export interface EntryAmount {
  readonly entries: number;
  readonly bytes: number;
}

export const NOTHING: EntryAmount = { entries: 0, bytes: 0 };

export function plus(one: EntryAmount, other: EntryAmount): EntryAmount {
  return { entries: one.entries + other.entries, bytes: one.bytes + other.bytes };
}

export function minus(one: EntryAmount, other: EntryAmount): EntryAmount {
  return { entries: one.entries - other.entries, bytes: one.bytes - other.bytes };
}

export function amountOf(entries: readonly StoredEntry[]): EntryAmount {
  let bytes = 0;
  for (const { entryId, record } of entries) bytes += Buffer.byteLength(entryId) + record.length;
  return { entries: entries.length, bytes };
}
