import { isDead, withDead, type DeadSet } from '../index/layer/dead-set';
import { rankOfId } from '../index/layer/id-table';
import { recordAt } from '../index/layer/packed-entry';
import { RecordCursor } from '../index/layer/record-cursor';
import type { View } from '../index/layer/view';
import type { LivingLayer } from './thread-calls';
import type { HeldLayer } from './held-layer';

/** A layer of a copy, and its dead ranks. The levels of a copy are sorted from new to old. */
export interface Level {
  readonly held: HeldLayer;
  /** The ranks of the entries that were deleted, or that a newer level has. */
  readonly dead: DeadSet;
}

/** The record and the selections of an entry. Undefined: no level has the entry. The record is a view, not a copy. */
export function entryOf(
  levels: readonly Level[],
  id: Uint8Array,
): { readonly record: Uint8Array; readonly selectionCount: number } | undefined {
  for (const { held, dead } of levels) {
    const { layer } = held;
    const rank = rankOfId(layer, id);
    if (rank < 0 || isDead(dead, rank)) continue;
    const record = recordAt(layer, rank);
    const cursor = new RecordCursor();
    cursor.open(record);
    return { record, selectionCount: (layer.scores[rank] as number) - cursor.number() };
  }
  return undefined;
}

/** The level with these ids dead. */
export function withoutIds(level: Level, ids: readonly Uint8Array[]): Level {
  const ranks = ids.map((id) => rankOfId(level.held.layer, id)).filter((rank) => rank >= 0);
  const dead = withDead(level.dead, ranks);
  return dead === level.dead ? level : { ...level, dead };
}

export function livingCount({ held, dead }: Level): number {
  return held.layer.count - dead.count;
}

export function viewOf(levels: readonly Level[]): View {
  return { layers: levels.map(({ held, dead }) => ({ layer: held.layer, dead })) };
}

export function livingLayer({ held, dead }: Level): LivingLayer {
  return { memory: held.memory, dead };
}

export function livingBytes(level: Level): number {
  const { count } = level.held.layer;
  return count === 0 ? 0 : level.held.byteLength * (livingCount(level) / count);
}
