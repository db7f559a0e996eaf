import { rankOfId } from '../index/layer/id-table';
import { type DeadSet, isDead, type Layer, withDead } from '../index/layer/layer';
import type { LayerMemory } from '../index/layer/layer-memory';
import { recordAt, RecordCursor } from '../index/layer/packed-entry';
import type { View } from '../index/layer/view';
import type { LivingLayer } from './thread-calls';

/**
 * A layer and its memory. Every view with the layer, and every search in another thread, holds the layer. The memory is
 * freed when nobody holds the layer any more.
 */
export class HeldLayer {
  #holdCount = 1;

  /** The creator holds the layer. */
  constructor(
    readonly layer: Layer,
    readonly memory: LayerMemory,
    readonly byteLength: number,
    private readonly free: () => void,
  ) {}

  hold(): void {
    if (this.#holdCount === 0) throw new Error('the memory of the layer is already free');
    this.#holdCount += 1;
  }

  release(): void {
    if (this.#holdCount === 0) throw new Error('the memory of the layer is already free');
    this.#holdCount -= 1;
    if (this.#holdCount === 0) this.free();
  }
}

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

/** A version of one history. */
export interface Position {
  readonly version: number;
  readonly tail: string;
}
