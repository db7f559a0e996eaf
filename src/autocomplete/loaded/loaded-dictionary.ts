import type { Clock } from '../../base/clock';
import { reportDefect } from '../../base/errors';
import { GrowingPause } from '../../flow/backoff';
import { SharedRuns } from '../../flow/rerun';
import type { Patience } from '../../flow/waiting';
import { dictionaryText } from '../autocomplete-errors';
import type { EntryStore, Head, Missing, Write } from '../entry-store';
import type { LoadState } from '../suggestion';
import { type DictionaryRoom, NoMemory } from './builds';
import { type CopyOptions, GenerationCopy } from './copy';
import { type LoadProgress, type LoadStore, PacedLoads, type PacedLoadsOptions } from './load';

/** How long the copy of a replaced generation may answer. */
const REPLACED_COPY_MS = 60_000;

/** The live generation that has replaced the generation of a copy. Loads the live generation beside the copy. */
class Replacement {
  #loading: Promise<void> | undefined;
  readonly #pause: GrowingPause;

  constructor(
    readonly generationId: string,
    /** When this server noticed that the copy's generation was replaced (ms, monotonic clock). */
    readonly since: number,
    private readonly work: () => Promise<void>,
    private readonly clock: Clock,
  ) {
    this.#pause = new GrowingPause(clock);
  }

  /** True: the copy must not answer any more. */
  get isOverdue(): boolean {
    return this.clock.now() - this.since > REPLACED_COPY_MS;
  }

  /** Loads the live generation, except in the pause after a failed load. Resolves after the load, also if it fails. */
  async tryLoad(): Promise<void> {
    if (this.#loading || this.#pause.isOver) await this.load().catch(() => undefined);
  }

  /** Loads the live generation. All callers share one load. Rejects if the load fails. */
  load(): Promise<void> {
    this.#loading ??= this.#loadNow();
    return this.#loading;
  }

  async #loadNow(): Promise<void> {
    try {
      await this.work();
    } catch (error) {
      this.#pause.begin();
      throw error;
    } finally {
      this.#loading = undefined;
    }
  }
}

export interface LoadedOptions
  extends Omit<CopyOptions, 'profile' | 'room' | 'onMergeFailed'>, PacedLoadsOptions {
  readonly store: LoadStore & Pick<EntryStore, 'head'>;
  readonly clock: Clock;
  readonly freeSome: DictionaryRoom['freeSome'];
  readonly onDefect: (error: unknown) => void;
  /** Receives texts for the operator. */
  readonly onWarning: (text: string) => void;
  /** Called after each load, and after its callers have the result. */
  readonly onLoadEnd: () => void;
}

/** The copy for a query. Undefined: the copy was evicted. */
type Found = GenerationCopy | Missing | undefined;

/** The entries of a dictionary in this server: loads them when they are asked for, and keeps them current. */
export class LoadedDictionary {
  #copy: GenerationCopy | undefined;
  /** The copy has every write that was answered before this time (ms, monotonic clock). */
  #currentAt = -Infinity;
  #askedAt: number;
  /** Undefined: the copy's generation is live. */
  #replacement: Replacement | undefined;
  readonly #pacedLoads: PacedLoads;
  /**
   * The pause after a copy was unloaded because it could not grow. During this pause no copy is unloaded for this
   * reason.
   */
  readonly #pauseAfterUnload: GrowingPause;
  readonly #follows = new SharedRuns(() => this.#makeCurrent());
  readonly #loads = new SharedRuns(() => this.#makeCurrentOrLoad());

  constructor(
    readonly name: string,
    private readonly options: LoadedOptions,
  ) {
    this.#pacedLoads = new PacedLoads(name, options);
    this.#pauseAfterUnload = new GrowingPause(options.clock);
    this.#askedAt = options.clock.now();
  }

  /** When a query last asked for the dictionary (ms, monotonic clock). */
  get askedAt(): number {
    return this.#askedAt;
  }

  /** A query asks for the dictionary. */
  onAsked(): void {
    this.#askedAt = this.options.clock.now();
  }

  get copy(): GenerationCopy | undefined {
    return this.#copy;
  }

  get loadState(): LoadState {
    if (this.#copy) return 'ready';
    if (this.#loads.inProgress) return 'loading';
    return this.#pacedLoads.hasFailed ? 'failed' : 'not-loaded';
  }

  /** Undefined: no load is in progress. */
  get progress(): LoadProgress | undefined {
    return this.#loads.inProgress ? this.#pacedLoads.progress : undefined;
  }

  get byteLength(): number {
    return this.#copy?.byteLength ?? 0;
  }

  /** The copy, if it is not older than `maxStalenessMs`. Does not ask the store. */
  copyNotOlderThan(maxStalenessMs: number): GenerationCopy | undefined {
    if (maxStalenessMs === 0 || this.#replacement?.isOverdue) return undefined;
    return this.options.clock.now() - this.#currentAt <= maxStalenessMs ? this.#copy : undefined;
  }

  /**
   * Resolves to a copy with every write that was answered before this call. The copy of a replaced generation answers for
   * a bounded time. Rejects with `OutOfPatience`, a `StoreFailure`, `NoMemory` or `ThreadLost`.
   */
  async checkedCopy(patience: Patience): Promise<Found> {
    const copy = await this.#currentCopy(patience);
    const replacement = this.#replacement;
    if (replacement === undefined) return copy;
    const tried = replacement.tryLoad();
    if (!replacement.isOverdue) return copy;
    await patience.waitFor(tried);
    if (this.#replacement === replacement) this.unload();
    // The new copy may lack writes that came during its load.
    return this.#currentCopy(patience);
  }

  /** As `checkedCopy`, but resolves to a copy of the live generation. */
  async liveGenerationCopy(patience: Patience): Promise<Found> {
    const copy = await this.checkedCopy(patience);
    if (this.#replacement === undefined) return copy;
    await patience.waitFor(this.#replacement.load());
    return this.#replacement === undefined ? this.#copy : undefined;
  }

  /** Frees the memory. The next query loads the dictionary again. */
  unload(): void {
    this.#copy?.close();
    this.#copy = undefined;
    this.#replacement = undefined;
  }

  /** Frees the memory. No query loads the dictionary again. */
  close(): void {
    this.#pacedLoads.close();
    this.unload();
  }

  async #currentCopy(patience: Patience): Promise<Found> {
    if (this.#copy) {
      const { head, notBefore } = await this.options.heads.read(this.name);
      if (head.kind !== 'head') {
        this.unload();
        return head;
      }
      if (this.#copy && this.#isAt(head, this.#copy)) {
        this.#currentAt = Math.max(this.#currentAt, notBefore);
        return this.#copy;
      }
      const followed = await this.#follows.begunAfterNow();
      if (followed) return followed;
    }
    const load = this.#loads.begunAfterNow();
    void load.catch(() => undefined).then(() => this.options.onLoadEnd());
    return patience.waitFor(load);
  }

  #isAt(head: Head, copy: GenerationCopy): boolean {
    const { version, tail } = copy.position;
    return head.generationId === this.#followedId(copy) && head.version === version && head.tail === tail;
  }

  /** The generation that gives the writes to the copy: its own, or the generation that has replaced it. */
  #followedId(copy: GenerationCopy): string {
    return this.#replacement?.generationId ?? copy.generationId;
  }

  async #makeCurrent(): Promise<Found> {
    const askedAt = this.options.clock.now();
    const copy = this.#copy;
    const found = copy && (await this.#follow(copy));
    if (found && found === this.#copy) this.#currentAt = Math.max(this.#currentAt, askedAt);
    return found;
  }

  async #makeCurrentOrLoad(): Promise<Found> {
    while (this.#copy) {
      const found = await this.#follows.begunAfterNow();
      if (found) return found;
    }
    return this.#load();
  }

  async #load(): Promise<Found> {
    const beganAt = this.options.clock.now();
    const loaded = await this.#pacedLoads.load(this.#copyOptions());
    if (loaded instanceof GenerationCopy) this.#take(loaded, beganAt);
    return loaded;
  }

  /** `currentAt`: the copy has every write that was answered before. */
  #take(copy: GenerationCopy, currentAt: number): void {
    if (this.#pacedLoads.isClosed) return copy.close();
    this.unload();
    this.#copy = copy;
    this.#currentAt = currentAt;
  }

  /** Applies the writes until the copy has all writes before this call. Undefined: the copy was dropped. */
  async #follow(copy: GenerationCopy): Promise<Found> {
    let target: number | undefined;
    for (;;) {
      const from = { generationId: this.#followedId(copy), ...copy.position };
      const read = await this.options.store.writesAfter(this.name, from);
      if (this.#copy !== copy) return undefined;
      if (read.kind === 'gap') {
        if (!(await this.#rejoin(copy))) return undefined;
        // The store may have another history, with lower versions.
        target = undefined;
        continue;
      }
      if (read.kind !== 'writes') {
        this.unload();
        return read;
      }
      if (!(await this.#apply(copy, read.writes))) return undefined;
      if (this.#copy !== copy) return undefined;
      target ??= read.head.version;
      if (read.writes.length === 0 && read.head.generationId !== from.generationId) {
        this.#followReplacement(copy, read.head.generationId);
      } else if (copy.position.version >= target) {
        return copy;
      }
    }
  }

  /** False: the copy was unloaded, because it has no memory for the writes. A load may make a smaller copy. */
  async #apply(copy: GenerationCopy, writes: readonly Write[]): Promise<boolean> {
    try {
      await copy.apply(writes);
      return true;
    } catch (error) {
      if (!(error instanceof NoMemory) || !this.#unloadToShrink(error)) throw error;
      return false;
    }
  }

  /**
   * Continues if the store does not have the writes after the copy's position: from a new generation that follows the
   * position, or from the oldest layer. False: both are impossible, and the copy was dropped.
   */
  async #rejoin(copy: GenerationCopy): Promise<boolean> {
    const head = await this.options.store.head(this.name);
    if (this.#copy !== copy) return false;
    if (head.kind === 'head' && head.generationId !== this.#followedId(copy)) {
      this.#followReplacement(copy, head.generationId);
      return true;
    }
    const { basePosition, position } = copy;
    if (head.kind !== 'head' || this.#replacement || basePosition.version === position.version) {
      this.unload();
      return false;
    }
    await copy.rewind();
    return true;
  }

  /** The copy of the replaced generation follows the writes of the live generation, until the live one is loaded. */
  #followReplacement(copy: GenerationCopy, generationId: string): void {
    const { clock } = this.options;
    const since = this.#replacement?.since ?? clock.now();
    const replacement: Replacement = new Replacement(
      generationId,
      since,
      () => this.#replace(replacement),
      clock,
    );
    // A failover may bring the copy's generation back.
    this.#replacement = generationId === copy.generationId ? undefined : replacement;
  }

  /** Loads the live generation beside the copy of the replaced generation. */
  async #replace(replacement: Replacement): Promise<void> {
    const isWanted = () => this.#replacement === replacement;
    const beganAt = this.options.clock.now();
    try {
      const loaded = await this.#pacedLoads.load(this.#copyOptions());
      if (loaded instanceof GenerationCopy) {
        if (isWanted()) this.#take(loaded, beganAt);
        else loaded.close();
      } else if (isWanted()) {
        this.unload();
      }
    } catch (error) {
      if (!isWanted()) return;
      if (error instanceof NoMemory) {
        this.#warnOfMemory('its old generation was unloaded before the new one is loaded', error);
        return this.unload();
      }
      reportDefect(error, this.options.onDefect);
      throw error;
    }
  }

  #copyOptions(): Omit<CopyOptions, 'profile'> {
    return {
      ...this.options,
      room: { freeSome: this.options.freeSome, heldBytes: () => this.byteLength },
      onMergeFailed: (error) => this.#onMergeFailed(error),
    };
  }

  /** Without merges the copy grows with each write. */
  #onMergeFailed(error: unknown): void {
    if (!(error instanceof NoMemory)) this.options.onDefect(error);
    this.#unloadToShrink(error);
  }

  /** Unloads the copy, because a new load makes a smaller one. False: a copy was unloaded for this reason recently. */
  #unloadToShrink(error: unknown): boolean {
    if (!this.#pauseAfterUnload.isOver) return false;
    this.#pauseAfterUnload.begin();
    if (error instanceof NoMemory)
      this.#warnOfMemory('it was unloaded, and the next query loads it again', error);
    this.unload();
    return true;
  }

  #warnOfMemory(event: string, { neededBytes }: NoMemory): void {
    const { onWarning, memory } = this.options;
    onWarning(
      `${dictionaryText(this.name)} has no memory: ${event}; it needs at least ${neededBytes} bytes, and this server may use ${memory.budgetBytes} bytes for all dictionaries; raise HOLDFAST_DICTIONARY_MEMORY`,
    );
  }
}
