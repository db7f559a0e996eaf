import { systemClock } from '../../base/clock';
import { readBucketEntries } from '../bucket-entries';
import type { EntryChange } from '../entry-store';
import { isDead } from '../index/layer/layer';
import { EntryCollector } from '../index/build/collector';
import { type LayerPlan, planLayer, writeLayer } from '../index/build/builder';
import { openLayer, type LayerShape } from '../index/layer/layer-memory';
import type { Block } from './index-memory';
import type { Answering } from '../../base/thread';
import type { BuildCalls, CollectedEntry, LivingLayer } from './thread-calls';

class Cancelled extends Error {
  override readonly name = 'Cancelled';
}

interface Build {
  readonly collector: EntryCollector;
  readonly cancelFlag: Int32Array;
  plan: LayerPlan | undefined;
}

export function buildAnswers(builds: Builds): Answering<BuildCalls> {
  return {
    startBuild: (value) => builds.start(value),
    addBuckets: ({ build, packed }) => builds.addBuckets(build, packed),
    addChanges: ({ build, changes }) => builds.addChanges(build, changes),
    addEntries: ({ build, entries }) => builds.addEntries(build, entries),
    addLayers: ({ build, layers }) => builds.addLayers(build, layers),
    planLayer: ({ build }) => builds.plan(build),
    writeLayer: ({ build, block }) => builds.write(build, block),
    endBuild: ({ build }) => builds.end(build),
  };
}

/** The builds of one thread. */
export class Builds {
  readonly #builds = new Map<number, Build>();
  readonly #pace: Pace;

  constructor(dutyCycle: number) {
    this.#pace = new Pace(dutyCycle);
  }

  start({ build, accents, expected, cancelFlag }: BuildCalls['startBuild']['takes']): void {
    const collector = new EntryCollector(accents, expected);
    this.#builds.set(build, { collector, cancelFlag, plan: undefined });
  }

  addBuckets(number: number, packed: Uint8Array): void {
    const { collector } = this.#build(number);
    readBucketEntries(packed, ({ bytes, idStart, idEnd, recordStart, recordEnd, selectionCount }) =>
      collector.put(bytes.subarray(idStart, idEnd), bytes.subarray(recordStart, recordEnd), selectionCount),
    );
    this.#onSlice(number);
  }

  addChanges(number: number, changes: readonly EntryChange[]): void {
    const { collector } = this.#build(number);
    for (const change of changes) {
      const id = Buffer.from(change.entryId);
      if (change.kind === 'put') collector.put(id, change.record);
      else if (change.kind === 'delete') collector.delete(id);
      else collector.select(id, change.selectionCount);
    }
    this.#onSlice(number);
  }

  addEntries(number: number, entries: readonly CollectedEntry[]): void {
    const { collector } = this.#build(number);
    for (const { entryId, record, selectionCount } of entries) {
      collector.put(Buffer.from(entryId), record, selectionCount);
    }
    this.#onSlice(number);
  }

  addLayers(number: number, layers: readonly LivingLayer[]): void {
    const { collector } = this.#build(number);
    for (const { memory, dead } of layers) {
      const layer = openLayer(memory);
      for (let rank = 0; rank < layer.count; rank++) {
        if (!isDead(dead, rank)) collector.add(layer, rank);
        if (rank % ENTRIES_OF_A_SLICE === 0) this.#onSlice(number);
      }
    }
  }

  plan(number: number): LayerShape {
    const build = this.#build(number);
    build.plan = planLayer(build.collector, () => this.#onSlice(number));
    return build.plan.shape;
  }

  write(number: number, { buffer, byteOffset }: Block): void {
    const { plan } = this.#build(number);
    if (plan === undefined) throw new Error('the layer of the build is not planned');
    writeLayer(plan, { buffer, byteOffset, shape: plan.shape });
    this.end(number);
  }

  end(number: number): void {
    this.#builds.delete(number);
  }

  #build(number: number): Build {
    const build = this.#builds.get(number);
    if (build === undefined) throw new Error('the build has ended');
    return build;
  }

  #onSlice(number: number): void {
    const { cancelFlag } = this.#build(number);
    if (Atomics.load(cancelFlag, 0) !== 0) {
      this.end(number);
      throw new Cancelled('the build was cancelled');
    }
    this.#pace.pause();
  }
}

/** Some milliseconds of work. */
const ENTRIES_OF_A_SLICE = 4096;

/** Pauses between slices of work, so that other threads have a part of the only core. */
class Pace {
  readonly #neverChanged = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #sliceBegan = systemClock.now();

  constructor(private readonly dutyCycle: number) {}

  pause(): void {
    if (this.dutyCycle >= 1) return;
    const worked = systemClock.now() - this.#sliceBegan;
    const pauseMs = (worked * (1 - this.dutyCycle)) / this.dutyCycle;
    Atomics.wait(this.#neverChanged, 0, 0, pauseMs);
    this.#sliceBegan = systemClock.now();
  }
}
