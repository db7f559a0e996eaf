import type { Clock } from '../../base/clock';
import { Slices } from '../../flow/turns';
import type { EntryChange, Write } from '../entry-store';
import { buildLayer, updateTable } from '../index/build/builder';
import { EntryCollector } from '../index/build/collector';
import { NONE_DEAD } from '../index/layer/layer';
import { openLayer, ownMemory } from '../index/layer/layer-memory';
import type { View } from '../index/layer/view';
import type { Profile } from '../suggestion';
import { type DictionaryRoom, type LayerBuilds, newCancelFlag } from './builds';
import type { IndexMemory } from './index-memory';
import { entryOf, HeldLayer, type Level, type Position, viewOf, withoutIds } from './levels';
import { CopyMerges, type Merged } from './merges';
import type { CollectedEntry } from './thread-calls';

/** A deletion counts like a put of a short text, because both take the same time. */
const DELETED_BYTES = 24;

/** The changes of some writes: the last state of each changed entry. */
export class ChangedEntries {
  /** By id. Undefined: the entry was deleted. */
  readonly #entries = new Map<string, CollectedEntry | undefined>();
  /** About the bytes of the ids and records, as a measure of the work. Never falls. */
  #bytes = 0;

  /** `levels`: the entries before the changes. */
  constructor(private readonly levels: readonly Level[]) {}

  get bytes(): number {
    return this.#bytes;
  }

  get ids(): IterableIterator<string> {
    return this.#entries.keys();
  }

  /** The entries that were not deleted. */
  *living(): Generator<CollectedEntry> {
    for (const entry of this.#entries.values()) if (entry) yield entry;
  }

  add(change: EntryChange): void {
    const { entryId } = change;
    switch (change.kind) {
      case 'put': {
        const selectionCount = this.#entryOf(entryId)?.selectionCount ?? 0;
        this.#bytes += entryId.length + change.record.length;
        this.#entries.set(entryId, { entryId, record: change.record, selectionCount });
        return;
      }
      case 'delete':
        this.#bytes += entryId.length + DELETED_BYTES;
        this.#entries.set(entryId, undefined);
        return;
      case 'select': {
        const before = this.#entryOf(entryId);
        if (before === undefined) return;
        this.#bytes += entryId.length + before.record.length;
        this.#entries.set(entryId, { entryId, record: before.record, selectionCount: change.selectionCount });
      }
    }
  }

  #entryOf(entryId: string): { readonly record: Uint8Array; readonly selectionCount: number } | undefined {
    if (this.#entries.has(entryId)) return this.#entries.get(entryId);
    return entryOf(this.levels, Buffer.from(entryId));
  }
}

/** The oldest layer, with all entries of this position. */
export interface Base extends Position {
  readonly held: HeldLayer;
}

export interface CopyOptions {
  readonly profile: Profile;
  readonly clock: Clock;
  readonly builds: LayerBuilds;
  readonly memory: IndexMemory;
  readonly room: DictionaryRoom;
  /** A merge has failed. The copy stays correct, but grows with each write. */
  readonly onMergeFailed: (error: unknown) => void;
  /** Default: `defaultLayerLimits`. */
  readonly layerLimits?: LayerLimits;
}

export interface LayerLimits {
  /** The first layer takes writes until it has this size. */
  readonly firstLayerBytes: number;
  /** The main thread builds layers of at most this number of bytes of changes. Another thread builds larger layers. */
  readonly mostBytesHere: number;
}

/** With these limits no step on the main thread takes 1 ms. */
const defaultLayerLimits: LayerLimits = { firstLayerBytes: 64 * 1024, mostBytesHere: 32 * 1024 };

/** The search for this number of ids takes less than 0.3 ms. */
const IDS_OF_A_STEP = 256;

/**
 * A copy of one generation's entries in this server. Each write makes new levels, so the levels of a query never change.
 * Merges in another thread keep the number of levels small.
 */
export class GenerationCopy {
  #levels: readonly Level[];
  #view: View;
  #position: Position;
  #base: Base;
  /** The layer that takes the next writes. */
  #newest: HeldLayer | undefined;
  readonly #merges: CopyMerges;
  /** The end of the last change of the levels. Changes wait for each other. */
  #lastChange: Promise<void> = Promise.resolve();
  /** Set when the copy is closed: its builds end. */
  readonly #cancelFlag = newCancelFlag();
  readonly #limits: LayerLimits;

  constructor(
    readonly generationId: string,
    base: Base,
    private readonly options: CopyOptions,
  ) {
    this.#limits = options.layerLimits ?? defaultLayerLimits;
    this.#base = base;
    this.#levels = [{ held: base.held, dead: NONE_DEAD }];
    this.#view = viewOf(this.#levels);
    this.#position = base;
    this.#merges = new CopyMerges({
      ...options,
      firstLayerBytes: this.#limits.firstLayerBytes,
      onMerged: (merged) => this.#change(() => this.#takeMerged(merged)),
      onFailed: options.onMergeFailed,
    });
  }

  get profile(): Profile {
    return this.options.profile;
  }

  /** The entries of the present position, from new to old. */
  get levels(): readonly Level[] {
    return this.#levels;
  }

  /** The same entries, for a search. */
  get view(): View {
    return this.#view;
  }

  get position(): Position {
    return this.#position;
  }

  /** The position of the oldest layer. `rewind` leads there. */
  get basePosition(): Position {
    return this.#base;
  }

  get byteLength(): number {
    return this.#levels.reduce((sum, { held }) => sum + held.byteLength, 0);
  }

  /** True: the memory may be free, so no new search may begin. */
  get isClosed(): boolean {
    return Atomics.load(this.#cancelFlag, 0) !== 0;
  }

  /** Applies the writes that follow the present position. Queries see all of these writes or none. */
  apply(writes: readonly Write[]): Promise<void> {
    return this.#change(() => this.#applyNow(writes));
  }

  /** Goes back to the oldest layer, because later writes belong to another history. */
  rewind(): Promise<void> {
    return this.#change(() => {
      if (this.isClosed) return Promise.resolve();
      this.#merges.cancel();
      this.#base.held.hold();
      this.#publish([{ held: this.#base.held, dead: NONE_DEAD }], this.#base);
      return Promise.resolve();
    });
  }

  /** Frees the memory, except layers in use. */
  close(): void {
    if (this.isClosed) return;
    Atomics.store(this.#cancelFlag, 0, 1);
    this.#merges.cancel();
    for (const { held } of this.#levels) held.release();
  }

  #change(work: () => Promise<void>): Promise<void> {
    const changed = this.#lastChange.then(work);
    this.#lastChange = changed.catch(() => undefined);
    return changed;
  }

  async #applyNow(writes: readonly Write[]): Promise<void> {
    const last = writes.at(-1);
    if (last === undefined || this.isClosed) return;
    const present = this.#levels;
    // The copy may be closed meanwhile.
    for (const { held } of present) held.hold();
    try {
      await this.#applyTo(present, writes, last);
    } catch (error) {
      if (!this.isClosed) throw error;
    } finally {
      for (const { held } of present) held.release();
    }
  }

  async #applyTo(present: readonly Level[], writes: readonly Write[], last: Write): Promise<void> {
    const slices = new Slices(this.options.clock);
    const changed = new ChangedEntries(present);
    for (const { changes } of writes) {
      for (const change of changes) {
        changed.add(change);
        if (slices.isOver) await slices.pause();
      }
    }
    const levels = await this.#levelsWith(present, changed, slices);
    if (this.isClosed) return levels.forEach(({ held }) => held.release());
    this.#publish(levels, { version: last.version, tail: last.tail });
    this.#merges.onChanged(changed.ids);
    this.#startMerges();
  }

  /** New levels with the changes. The caller holds each layer of the new levels. */
  async #levelsWith(present: readonly Level[], changed: ChangedEntries, slices: Slices): Promise<Level[]> {
    const older: Level[] = [];
    const ids = await bytesOf(changed.ids, slices);
    const isLarge = changed.bytes > this.#limits.mostBytesHere;
    const [first] = present;
    const replaced = first && !isLarge && this.#takesWrites(first) ? first : undefined;
    for (const level of present) {
      if (level !== replaced) older.push(await this.#withoutIds(level, ids, slices));
    }
    const held = isLarge
      ? await this.#buildThere(changed)
      : await this.#buildHere(changed, replaced, ids, slices);
    for (const level of older) level.held.hold();
    this.#newest = isLarge ? undefined : held;
    return held === undefined ? older : [{ held, dead: NONE_DEAD }, ...older];
  }

  async #withoutIds(level: Level, ids: readonly Uint8Array[], slices: Slices): Promise<Level> {
    let without = level;
    for (let start = 0; start < ids.length; start += IDS_OF_A_STEP) {
      without = withoutIds(without, ids.slice(start, start + IDS_OF_A_STEP));
      if (slices.isOver) await slices.pause();
    }
    return without;
  }

  /** True: the next writes belong into this layer. */
  #takesWrites(level: Level): boolean {
    return (
      level.held === this.#newest &&
      level.held.byteLength < this.#limits.firstLayerBytes &&
      !this.#merges.isMerging(level)
    );
  }

  /** Undefined: there is no entry for the layer. */
  async #buildHere(
    changed: ChangedEntries,
    replaced: Level | undefined,
    ids: readonly Uint8Array[],
    slices: Slices,
  ): Promise<HeldLayer | undefined> {
    const collector = new EntryCollector(this.profile.accents);
    for (const { entryId, record, selectionCount } of changed.living()) {
      collector.put(Buffer.from(entryId), record, selectionCount);
      if (slices.isOver) await slices.pause();
    }
    // The table takes a whole slice.
    if (ids.length > IDS_OF_A_STEP) await slices.pause();
    const memory = replaced
      ? updateTable(replaced.held.layer, collector, ids)
      : buildLayer(collector, { allocate: ownMemory, smallFormBytes: Infinity });
    if (memory.shape.entryCount === 0) return undefined;
    const { byteLength } = memory.buffer;
    const counted = this.options.memory.count(byteLength);
    return new HeldLayer(openLayer(memory), memory, byteLength, () => counted.free());
  }

  async #buildThere(changed: ChangedEntries): Promise<HeldLayer | undefined> {
    const entries = [...changed.living()];
    if (entries.length === 0) return undefined;
    const { builds, room } = this.options;
    const request = {
      accents: this.profile.accents,
      expected: { count: entries.length, bytes: changed.bytes },
      isOfChanges: true,
      cancelFlag: this.#cancelFlag,
      room,
    };
    return builds.build(request, (input) => input.addEntries(entries));
  }

  /** `levels` are held by the caller. The levels before are released. */
  #publish(levels: readonly Level[], position: Position): void {
    const before = this.#levels;
    this.#levels = levels;
    this.#view = viewOf(levels);
    this.#position = position;
    for (const { held } of before) held.release();
  }

  #startMerges(): void {
    this.#merges.start(this.#levels, this.#position, this.#newest);
  }

  /** Puts the merged layer in the place of its levels. */
  async #takeMerged({ held, replaced, changedIds, base, isCancelled }: Merged): Promise<void> {
    const slices = new Slices(this.options.clock);
    const ids = await bytesOf(changedIds, slices);
    const merged = await this.#withoutIds({ held, dead: NONE_DEAD }, ids, slices);
    const at = this.#levels.findIndex((level) => replaced.has(level.held));
    if (this.isClosed || at < 0 || isCancelled()) return held.release();
    const levels = [...this.#levels.slice(0, at), merged, ...this.#levels.slice(at + replaced.size)];
    if (base) this.#base = { ...base, held };
    for (const level of levels) if (level !== merged) level.held.hold();
    this.#publish(levels, this.#position);
    this.#startMerges();
  }
}

async function bytesOf(ids: Iterable<string>, slices: Slices): Promise<Uint8Array[]> {
  const bytes: Uint8Array[] = [];
  for (const id of ids) {
    bytes.push(Buffer.from(id));
    if (slices.isOver) await slices.pause();
  }
  return bytes;
}
