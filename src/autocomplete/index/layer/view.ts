import { unpackRecordAt } from '../../record';
import type { Entry } from '../../suggestion';
import { rankOfId } from './id-table';
import { type DeadSet, type EntryTable, isDead, type Layer, NONE_DEAD, withDead } from './layer';
import { entryIdBytesAt, idLengthAt, idStart, packedSizeAt, recordStart } from './packed-entry';

/** A layer, and its dead ranks: the entries of these ranks are deleted or in a newer layer. */
export interface ViewLayer {
  readonly layer: Layer;
  readonly dead: DeadSet;
}

/**
 * The state of a dictionary at one moment. A view never changes. Each entry is alive in at most one layer. A view
 * contains only data, so another thread can get a view by a message.
 */
export interface View {
  /** The newest layer first. */
  readonly layers: readonly ViewLayer[];
}

export const EMPTY_VIEW: View = { layers: [] };

export interface EntryPlace {
  readonly layer: Layer;
  readonly rank: number;
}

/** Adds a layer with new and changed entries, and removes the entries with the ids `removedIds`, in UTF-8. */
export function viewWith(view: View, newLayer: Layer | undefined, removedIds: readonly Uint8Array[]): View {
  const older = view.layers.map((viewLayer) => withoutIds(viewLayer, replacedIds(newLayer, removedIds)));
  return { layers: newLayer ? [{ layer: newLayer, dead: NONE_DEAD }, ...older] : older };
}

/** The entry with this id; undefined if the view has no such entry. */
export function findEntry(view: View, entryId: string): EntryPlace | undefined {
  const id = Buffer.from(entryId);
  for (const { layer, dead } of view.layers) {
    const rank = rankOfId(layer, id);
    if (rank >= 0 && !isDead(dead, rank)) return { layer, rank };
  }
  return undefined;
}

/** The number of entries that are alive. */
export function entryCount(view: View): number {
  return view.layers.reduce((sum, { layer, dead }) => sum + layer.count - dead.count, 0);
}

/** The same layer without the entries with these ids. */
export function withoutIds({ layer, dead }: ViewLayer, ids: Iterable<Uint8Array>): ViewLayer {
  return { layer, dead: withDead(dead, ranksOf(layer, ids)) };
}

function* ranksOf(table: EntryTable, ids: Iterable<Uint8Array>): Iterable<number> {
  for (const id of ids) {
    const rank = rankOfId(table, id);
    if (rank >= 0) yield rank;
  }
}

function* replacedIds(newLayer: Layer | undefined, removedIds: readonly Uint8Array[]): Iterable<Uint8Array> {
  yield* removedIds;
  for (let rank = 0; rank < (newLayer?.count ?? 0); rank += 1) {
    if (newLayer) yield entryIdBytesAt(newLayer, rank);
  }
}

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
