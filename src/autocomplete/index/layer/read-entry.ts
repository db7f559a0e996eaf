import { unpackRecordAt } from '../../stored-record';
import type { Entry } from '../../suggestion';
import type { EntryTable } from './layer';
import { idLengthAt, idStart, packedSizeAt, recordStart } from './packed-entry';

/** An entry of an index. */
export interface IndexedEntry extends Entry {
  readonly selectionCount: number;
  /** Weight plus selections. */
  readonly score: number;
  readonly foldedText: string;
}

/** Buffers over the bytes of a table. A new Buffer for each entry would take most of the time of a search. */
interface TableBuffers {
  readonly forms: Buffer;
  readonly entries: Buffer;
}

const known = new WeakMap<EntryTable, TableBuffers>();

export function readEntry(table: EntryTable, rank: number): IndexedEntry {
  const { forms, entries } = buffersOf(table);
  const at = table.entryAt[rank] as number;
  const form = table.formsAt[rank] as number;
  const score = table.scores[rank] as number;
  const record = unpackRecordAt(entries, recordStart(entries, at), at + packedSizeAt(entries, at));
  return {
    entryId: entries.toString('utf8', idStart(at), idStart(at) + idLengthAt(entries, at)),
    text: record.text,
    aliases: record.aliases,
    weight: record.weight,
    payload: record.payload,
    selectionCount: score - record.weight,
    score,
    foldedText: forms.toString('utf8', form, table.forms.indexOf(0, form)),
  };
}

function buffersOf(table: EntryTable): TableBuffers {
  let buffers = known.get(table);
  if (buffers === undefined) {
    buffers = { forms: bufferOver(table.forms), entries: bufferOver(table.entries) };
    known.set(table, buffers);
  }
  return buffers;
}

/** A Buffer with the same memory. */
export function bufferOver(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
