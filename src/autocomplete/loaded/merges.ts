import type { Clock } from '../../base/clock';
import { GrowingPause } from '../../flow/backoff';
import type { Profile } from '../suggestion';
import { type DictionaryRoom, type LayerBuilds, newCancelFlag, NoMemory } from './builds';
import { type HeldLayer, type Level, livingBytes, livingCount, livingLayer, type Position } from './levels';

/** The facts about a layer of a copy that decide its merges. */
export interface LayerSize {
  /** About the bytes that the living entries of the layer take. */
  readonly livingBytes: number;
  /** The bytes of all entries of the layer. */
  readonly bytes: number;
  /** True: the main thread made the layer of the latest writes, and adds the next writes while the layer is small. */
  readonly takesWrites: boolean;
  /** True: a merge of this layer is in progress. */
  readonly isMerging: boolean;
}

/** Neighbouring layers that become one layer: from `start`, before `end`. */
export interface Merge {
  readonly start: number;
  readonly end: number;
}

/** A layer joins a merge if it is at most this many times as large as the layers before it together. */
const GROWTH = 4;

/**
 * Chooses the layers to merge; undefined: none. `layers` are sorted from new to old. The newest layer takes writes
 * until it has `firstBytes`, and is not merged before. A merge takes the layers after the first as long as they are not
 * much larger than the merge so far. So sizes grow about four times from layer to layer: a copy has few layers, and an
 * entry is written a few times until it is in the oldest layer. A layer that is mostly dead is merged too. A merge with
 * the oldest layer takes all layers, so that the oldest layer always has all entries of one version.
 */
export function planMerge(layers: readonly LayerSize[], firstBytes: number): Merge | undefined {
  const plan = planOfGrowth(layers, firstBytes) ?? planOfDead(layers);
  if (plan?.end !== layers.length) return plan;
  return layers.some(({ isMerging }) => isMerging) ? undefined : { start: 0, end: plan.end };
}

function planOfGrowth(layers: readonly LayerSize[], firstBytes: number): Merge | undefined {
  const [newest] = layers;
  const start = newest?.takesWrites && newest.bytes < firstBytes ? 1 : 0;
  const first = layers[start];
  if (first === undefined || first.isMerging) return undefined;
  const end = endOfMerge(layers, start);
  return first.takesWrites || end > start + 1 ? { start, end } : undefined;
}

function planOfDead(layers: readonly LayerSize[]): Merge | undefined {
  const start = layers.findIndex(
    ({ livingBytes, bytes, isMerging }, index) => index > 0 && !isMerging && livingBytes < bytes / 2,
  );
  return start < 0 ? undefined : { start, end: start + 1 };
}

function endOfMerge(layers: readonly LayerSize[], start: number): number {
  let bytes = 0;
  for (let index = start; index < layers.length; index += 1) {
    const { livingBytes, isMerging } = layers[index] as LayerSize;
    if (isMerging || (index > start && livingBytes > GROWTH * bytes)) return index;
    bytes += livingBytes;
  }
  return layers.length;
}

/** A merged layer. The receiver holds the layer. */
export interface Merged {
  readonly held: HeldLayer;
  /** The neighbouring layers that the merged layer replaces. */
  readonly replaced: ReadonlySet<HeldLayer>;
  /** The ids that have changed since the merge began. Their entries in the merged layer are out of date. */
  readonly changedIds: ReadonlySet<string>;
  /** The layer has all entries of this position. Undefined: the merge took only newer layers. */
  readonly base: Position | undefined;
  /** True: the layers are not in the copy any more. */
  isCancelled(): boolean;
}

export interface CopyMergesOptions {
  readonly profile: Profile;
  readonly clock: Clock;
  readonly builds: LayerBuilds;
  readonly room: DictionaryRoom;
  readonly firstLayerBytes: number;
  /** Puts the merged layer into the copy. */
  readonly onMerged: (merged: Merged) => Promise<void>;
  /** A merge has failed. The copy stays correct, but grows with each write. */
  readonly onFailed: (error: unknown) => void;
}

interface RunningMerge {
  readonly held: ReadonlySet<HeldLayer>;
  readonly cancelFlag: Int32Array;
  readonly changedIds: Set<string>;
}

/** Chooses and runs the merges of one copy, in another thread. */
export class CopyMerges {
  readonly #running = new Set<RunningMerge>();
  /**
   * The pause after a merge of all levels that failed for lack of memory. During this pause the merges leave out the
   * oldest level.
   */
  readonly #pauseOfAll: GrowingPause;
  /** The pause after any other failed merge. */
  readonly #pause: GrowingPause;

  constructor(private readonly options: CopyMergesOptions) {
    this.#pauseOfAll = new GrowingPause(options.clock);
    this.#pause = new GrowingPause(options.clock);
  }

  isMerging({ held }: Level): boolean {
    return [...this.#running].some((merge) => merge.held.has(held));
  }

  /** The entries with these ids have changed. */
  onChanged(ids: Iterable<string>): void {
    if (this.#running.size === 0) return;
    for (const id of ids) for (const merge of this.#running) merge.changedIds.add(id);
  }

  cancel(): void {
    for (const { cancelFlag } of this.#running) Atomics.store(cancelFlag, 0, 1);
  }

  /** Starts the merges of these levels. `newest`: the layer that takes the next writes. */
  start(levels: readonly Level[], position: Position, newest: HeldLayer | undefined): void {
    if (!this.#pause.isOver) return;
    const candidates = this.#pauseOfAll.isOver ? levels : levels.slice(0, -1);
    for (;;) {
      const sizes = candidates.map((level) => ({
        bytes: level.held.byteLength,
        livingBytes: livingBytes(level),
        takesWrites: level.held === newest,
        isMerging: this.isMerging(level),
      }));
      const plan = planMerge(sizes, this.options.firstLayerBytes);
      if (plan === undefined) return;
      const base = plan.end === levels.length ? position : undefined;
      this.#run(candidates.slice(plan.start, plan.end), base).catch(this.options.onFailed);
    }
  }

  async #run(levels: readonly Level[], base: Position | undefined): Promise<void> {
    const merge: RunningMerge = {
      held: new Set(levels.map(({ held }) => held)),
      cancelFlag: newCancelFlag(),
      changedIds: new Set(),
    };
    this.#running.add(merge);
    for (const held of merge.held) held.hold();
    try {
      const held = await this.#build(levels, merge.cancelFlag);
      await this.options.onMerged({
        held,
        replaced: merge.held,
        changedIds: merge.changedIds,
        base,
        isCancelled: () => isSet(merge.cancelFlag),
      });
    } catch (error) {
      if (!isSet(merge.cancelFlag)) this.#onFailed(error, base !== undefined);
    } finally {
      this.#running.delete(merge);
      for (const held of merge.held) held.release();
    }
  }

  #build(levels: readonly Level[], cancelFlag: Int32Array): Promise<HeldLayer> {
    const { builds, room, profile } = this.options;
    const expected = {
      count: sumOf(levels, livingCount),
      bytes: sumOf(levels, ({ held }) => held.layer.entries.length),
    };
    const request = {
      accents: profile.accents,
      expected,
      layerBytes: sumOf(levels, livingBytes),
      cancelFlag,
      room,
    };
    return builds.build(request, (input) => input.addLayers(levels.map(livingLayer).reverse()));
  }

  #onFailed(error: unknown, wasOfAll: boolean): void {
    if (wasOfAll && error instanceof NoMemory) {
      this.#pauseOfAll.begin();
    } else {
      this.#pause.begin();
      this.options.onFailed(error);
    }
  }
}

function sumOf(levels: readonly Level[], of: (level: Level) => number): number {
  return levels.reduce((sum, level) => sum + of(level), 0);
}

function isSet(cancelFlag: Int32Array): boolean {
  return Atomics.load(cancelFlag, 0) !== 0;
}
