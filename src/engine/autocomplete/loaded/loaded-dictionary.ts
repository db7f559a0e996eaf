import type { Clock } from '../../clock';
import { reportDefect } from '../../errors';
import { dictionaryText } from '../autocomplete-errors';
import type { EntryStore, Head, Missing, Write } from '../entry-store';
import type { LoadState } from '../suggestion';
import { loadCopy, type LoadStore } from './dictionary-load';
import { GenerationCopy, type CopyOptions } from './generation-copy';
import { GrowingPause } from './growing-pause';
import type { HeadReads } from './head-reads';
import type { FreeSome } from './index-memory';
import { LoadBackoff } from './load-backoff';
import type { LoadRate } from './load-rate';
import { NoMemory } from './layer-builds';
import { SharedRuns } from './shared-runs';

export interface LoadedOptions extends Omit<CopyOptions, 'profile' | 'room' | 'onMergeFailed'> {
  readonly store: LoadStore & Pick<EntryStore, 'head'>;
  readonly heads: HeadReads;
  readonly loadRate: LoadRate;
  readonly clock: Clock;
  /** Frees the indexes of other dictionaries. */
  readonly freeSome: FreeSome;
  readonly onDefect: (error: unknown) => void;
  /** Receives texts for the operator. */
  readonly onWarning: (text: string) => void;
}

/** How long the copy of a replaced generation answers while the new generation is loaded. */
const REPLACED_COPY_MS = 60_000;
/** How often an update loads the dictionary if each copy is lost before it is current. */
const MOST_ATTEMPTS = 3;

/** The entries of a dictionary in this server: loads them when they are asked for, and keeps them current. */
export class LoadedDictionary {
  #copy: GenerationCopy | undefined;
  /** The generation that gives the writes to the copy: its own, or the generation that has replaced it. */
  #followedId = '';
  /** Since when the copy's generation is replaced. Undefined: the copy's generation is live. */
  #replacedAt: number | undefined;
  /** The load of the new generation. */
  #replacement: Promise<void> | undefined;
  /** Why there is no copy. */
  #missing: Missing | undefined;
  /** The copy has every write that was answered before this time (ms, monotonic clock). */
  #currentAt = -Infinity;
  readonly #backoff: LoadBackoff;
  /** After a copy was unloaded because it could not grow. In this pause no other copy is unloaded for this reason. */
  readonly #pauseAfterUnload: GrowingPause;
  readonly #updates = new SharedRuns(() => this.#update());
  #closed = false;

  constructor(
    readonly name: string,
    private readonly options: LoadedOptions,
  ) {
    this.#backoff = new LoadBackoff(options.clock);
    this.#pauseAfterUnload = new GrowingPause(options.clock);
  }

  get copy(): GenerationCopy | undefined {
    return this.#copy;
  }

  get loadState(): LoadState {
    if (this.#copy) return 'ready';
    if (this.#updates.inProgress) return 'loading';
    return this.#backoff.hasFailed ? 'failed' : 'not-loaded';
  }

  get byteLength(): number {
    return this.#copy?.byteLength ?? 0;
  }

  /** The copy, if it is not older than `maxStalenessMs`. Asks nobody. */
  recentCopy(maxStalenessMs: number): GenerationCopy | undefined {
    const ageMs = this.options.clock.now() - this.#currentAt;
    return maxStalenessMs > 0 && ageMs <= maxStalenessMs ? this.#copy : undefined;
  }

  /**
   * Resolves to a copy with every write that was answered before this call. Undefined: the copy had to make room for
   * other dictionaries. Rejects with a `StoreFailure`, with `NoMemory` or with `ThreadLost`.
   */
  async currentCopy(): Promise<GenerationCopy | Missing | undefined> {
    if (this.#copy) {
      const { head, notBefore } = await this.options.heads.read(this.name);
      if (head.kind !== 'head') this.#unload(head);
      else if (this.#isAt(head)) this.#currentAt = Math.max(this.#currentAt, notBefore);
      else await this.#updates.begunAfterNow();
    } else {
      await this.#updates.begunAfterNow();
    }
    await this.#waitForReplacement();
    return this.#copy ?? this.#missing;
  }

  /** As `currentCopy`, but resolves to a copy of the live generation. */
  async newestCopy(): Promise<GenerationCopy | Missing | undefined> {
    const copy = await this.currentCopy();
    if (!this.#replacement) return copy;
    await this.#replacement;
    return this.#copy ?? this.#missing;
  }

  /** Frees the memory. The next query loads the dictionary again. */
  unload(): void {
    this.#unload(undefined);
  }

  close(): void {
    this.#closed = true;
    this.unload();
  }

  #unload(missing: Missing | undefined): void {
    this.#copy?.close();
    this.#copy = undefined;
    this.#replacedAt = undefined;
    this.#replacement = undefined;
    this.#missing = missing;
  }

  #isAt(head: Head): boolean {
    const position = this.#copy?.position;
    return (
      head.generationId === this.#followedId &&
      head.version === position?.version &&
      head.tail === position.tail
    );
  }

  async #waitForReplacement(): Promise<void> {
    if (this.#replacedAt === undefined) return;
    if (this.options.clock.now() - this.#replacedAt > REPLACED_COPY_MS) await this.#replacement;
  }

  /** Makes the copy current, or loads it. */
  async #update(): Promise<void> {
    const askedAt = this.options.clock.now();
    this.#missing = undefined;
    for (let attempt = 0; attempt < MOST_ATTEMPTS && !this.#missing; attempt += 1) {
      // A new copy has every write before its load.
      const isCurrent = this.#copy ? await this.#follow(this.#copy) : await this.#load();
      if (!isCurrent) continue;
      this.#currentAt = Math.max(this.#currentAt, askedAt);
      if (this.#replacedAt !== undefined) this.#startReplacement();
      return;
    }
  }

  #startReplacement(): void {
    const copy = this.#copy;
    if (this.#replacement || !copy) return;
    this.#replacement = this.#replace(copy, this.#followedId);
    this.#replacement.catch((error: unknown) => reportDefect(error, this.options.onDefect));
  }

  /** False: there is no copy. */
  async #load(): Promise<boolean> {
    this.#take(await this.#loadCopy());
    return this.#copy !== undefined;
  }

  #take(loaded: GenerationCopy | Missing): void {
    this.#unload(loaded instanceof GenerationCopy ? undefined : loaded);
    if (!(loaded instanceof GenerationCopy)) return;
    if (this.#closed) return loaded.close();
    this.#copy = loaded;
    this.#followedId = loaded.generationId;
  }

  /** Applies the writes until the copy has all writes before this call. False: the copy was dropped. */
  async #follow(copy: GenerationCopy): Promise<boolean> {
    const { store } = this.options;
    let target: number | undefined;
    for (;;) {
      const from = { generationId: this.#followedId, ...copy.position };
      const read = await store.writesAfter(this.name, from);
      if (this.#copy !== copy) return false;
      if (read.kind === 'gap') {
        if (await this.#rejoin(copy)) continue;
        this.#unload(undefined);
        return false;
      }
      if (read.kind !== 'writes') {
        this.#unload(read);
        return false;
      }
      if (!(await this.#apply(copy, read.writes))) return false;
      target ??= read.head.version;
      if (read.writes.length === 0 && read.head.generationId !== this.#followedId) {
        this.#followReplacement(read.head.generationId);
      } else if (copy.position.version >= target) {
        return true;
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
   * Finds a way to go on if the store does not have the writes after the copy's position: from a new generation that
   * follows the position, or from the oldest layer. False: there is no way.
   */
  async #rejoin(copy: GenerationCopy): Promise<boolean> {
    const head = await this.options.store.head(this.name);
    if (head.kind !== 'head') return false;
    if (head.generationId !== this.#followedId) {
      this.#followReplacement(head.generationId);
      return true;
    }
    const { basePosition, position } = copy;
    if (this.#followedId !== copy.generationId || basePosition.version === position.version) return false;
    await copy.rewind();
    return true;
  }

  /** The copy of the replaced generation follows the writes of the new generation, until the new one is loaded. */
  #followReplacement(generationId: string): void {
    this.#followedId = generationId;
    this.#replacedAt ??= this.options.clock.now();
    this.#replacement = undefined;
  }

  /** Loads the new generation beside the copy of the replaced generation. */
  async #replace(copy: GenerationCopy, generationId: string): Promise<void> {
    const isWanted = () => this.#copy === copy && this.#followedId === generationId;
    try {
      const loaded = await this.#loadCopy();
      if (isWanted()) this.#take(loaded);
      else if (loaded instanceof GenerationCopy) loaded.close();
    } catch (error) {
      if (!isWanted()) return;
      if (error instanceof NoMemory) {
        this.#warnOfMemory('its old generation was unloaded before the new one is loaded', error);
        return this.#unload(undefined);
      }
      this.#replacement = undefined;
      throw error;
    }
  }

  #loadCopy(): Promise<GenerationCopy | Missing> {
    return this.#backoff.run(async () => {
      await this.options.loadRate.pass();
      return loadCopy(this.name, this.options.store, this.#copyOptions());
    });
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
