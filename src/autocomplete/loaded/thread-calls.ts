import { join } from 'node:path';
import { TaskThread } from '../../base/thread';
import type { EntryChange, StoredEntry } from '../entry-store';
import type { ExpectedEntries } from '../index/build/collector';
import type { DeadSet } from '../index/layer/layer';
import type { LayerMemory, LayerShape } from '../index/layer/layer-memory';
import type { Listing } from '../index/search/list';
import type { Suggestions } from '../index/search/view-suggest';
import type { ListPosition, MatchKind, Profile, RankPosition } from '../suggestion';
import type { Block } from './index-memory';

/** An entry of a new layer. */
export interface CollectedEntry extends StoredEntry {
  readonly selectionCount: number;
}

/** A layer with its dead ranks. */
export interface LivingLayer {
  readonly memory: LayerMemory;
  readonly dead: DeadSet;
}

export interface SuggestTask {
  readonly folded: string;
  readonly wanted: readonly MatchKind[];
  readonly limit: number;
  readonly after: RankPosition | undefined;
}

export interface ListTask {
  /** Folded; empty: no bound. */
  readonly from: string;
  readonly to: string;
  readonly limit: number;
  readonly after: ListPosition | undefined;
}

/** The calls of a build: the values that each call takes, and the answer. A number names the build. */
export interface BuildCalls {
  /** `cancelFlag`: one number, which the caller sets to 1 to cancel the build. */
  startBuild: {
    takes: { build: number; accents: Profile['accents']; expected: ExpectedEntries; cancelFlag: Int32Array };
    answers: void;
  };
  /** Collects the entries of packed buckets (bucket-entries.ts). Later entries with the same id count. */
  addBuckets: { takes: { build: number; packed: Uint8Array }; answers: void };
  /** Applies changes to the collected entries, in their order. */
  addChanges: { takes: { build: number; changes: readonly EntryChange[] }; answers: void };
  addEntries: { takes: { build: number; entries: readonly CollectedEntry[] }; answers: void };
  /** Collects the living entries of layers. */
  addLayers: { takes: { build: number; layers: readonly LivingLayer[] }; answers: void };
  /** Answers the shape of the new layer. The build takes no more entries. */
  planLayer: { takes: { build: number }; answers: LayerShape };
  /** Writes the layer into the memory, and ends the build. */
  writeLayer: { takes: { build: number; block: Block }; answers: void };
  /** Ends a build without a layer. */
  endBuild: { takes: { build: number }; answers: void };
}

/** The calls of an index thread. */
export interface ThreadCalls extends BuildCalls {
  /** `layers`: from new to old. */
  suggest: { takes: SuggestTask & { layers: readonly LivingLayer[] }; answers: Suggestions };
  list: { takes: ListTask & { layers: readonly LivingLayer[] }; answers: Listing };
}

export interface ThreadSettings {
  /** The priority of the thread for the system: 0 normal, 19 lowest. */
  readonly nice: number;
  /** The part of the time in which long work runs: above 0, at most 1. */
  readonly dutyCycle: number;
}

/** A worker thread that builds and searches layers. */
export class IndexThread extends TaskThread<ThreadCalls> {
  constructor(settings: ThreadSettings) {
    super(join(__dirname, 'thread-main'), settings);
  }
}
