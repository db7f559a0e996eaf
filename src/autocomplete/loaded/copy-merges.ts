import type { Clock } from '../../base/clock';
import type { Profile } from '../suggestion';
import { GrowingPause } from '../../flow/growing-pause';
import type { HeldLayer } from './held-layer';
import { newCancelFlag, NoMemory, type DictionaryRoom, type LayerBuilds } from './layer-builds';
import { livingBytes, livingCount, livingLayer, type Level } from './levels';
import { planMerge } from './merge-plan';
import type { Position } from './position';

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
