import { isDead, NONE_DEAD, withDead, type DeadSet } from './dead-set';
import { rankOfId } from './id-table';
import type { EntryTable, Layer } from './layer';
import { entryIdBytesAt } from './packed-entry';

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
