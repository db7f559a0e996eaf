import type { Clock } from '../../base/clock';
import { HoldfastError } from '../../base/errors';
import { ThreadLost } from '../../base/thread';
import { LoadRate } from '../../flow/lanes';
import { OutOfPatience, Patience } from '../../flow/waiting';
import {
  dictionaryLoading,
  dictionaryText,
  missingDictionary,
  noMemoryForDictionary,
  readOf,
} from '../autocomplete-errors';
import type { EntryStore, Missing } from '../entry-store';
import type {
  AskedView,
  DictionaryIndexes,
  IndexState,
  Listing,
  ListingRequest,
  Ranking,
  RankingRequest,
} from '../suggestion';
import { LayerBuilds, NoMemory } from './builds';
import type { GenerationCopy, LayerLimits } from './copy';
import { IndexMemory } from './index-memory';
import { LoadedDictionary } from './loaded-dictionary';
import { CopySearch, type SearchCaller } from './search';
import { IndexThread } from './thread-calls';
import { HeadReads } from './store-reads';

export interface LoadedDictionariesOptions {
  readonly store: Pick<EntryStore, 'head' | 'startLoad' | 'readBuckets' | 'writesAfter'>;
  readonly memory: IndexMemory;
  readonly builds: LayerBuilds;
  readonly search: CopySearch;
  readonly clock: Clock;
  /** Receives the defects of background work. */
  readonly onDefect: (error: unknown) => void;
  /** Receives texts for the operator. */
  readonly onWarning: (text: string) => void;
  /** Called when all dictionaries are closed. */
  readonly onClose: () => void;
  /** Tests set smaller limits, so that few writes make many layers. */
  readonly layerLimits?: LayerLimits;
}

/** A query waits for loads at most for this time, also without a deadline (ms). */
const LONGEST_PATIENCE_MS = 60_000;
/** A long build must not evict a dictionary that a query has asked for in this time (ms). */
const IN_USE_MS = 10_000;
/** How often a query asks again for a copy that was evicted. */
const MOST_ATTEMPTS = 3;

type AskForCopy = (
  loaded: LoadedDictionary,
) => GenerationCopy | Promise<GenerationCopy | Missing | undefined>;

/**
 * The dictionaries in the memory of this server. If the memory is full, the least recently used dictionary is evicted.
 */
export class LoadedDictionaries implements DictionaryIndexes {
  /** The dictionaries in the order of their last use, the latest last. */
  readonly #dictionaries = new Map<string, LoadedDictionary>();
  readonly #heads: HeadReads;
  readonly #loadRate: LoadRate;
  #isClosed = false;

  constructor(private readonly options: LoadedDictionariesOptions) {
    this.#heads = new HeadReads(options.store, options.clock);
    this.#loadRate = new LoadRate(options.clock);
  }

  /** The memory of all indexes and of the builds in progress (bytes). */
  get usedBytes(): number {
    return this.options.memory.usedBytes;
  }

  get budgetBytes(): number {
    return this.options.memory.budgetBytes;
  }

  /** The dictionaries that are loaded or being loaded. */
  get count(): number {
    return this.#dictionaries.size;
  }

  rank(dictionary: string, request: RankingRequest, asked: AskedView): Promise<Ranking> {
    return this.#answer(dictionary, asked, (copy, by) => this.options.search.rank(copy, request, by));
  }

  list(dictionary: string, request: ListingRequest, asked: AskedView): Promise<Listing> {
    return this.#answer(dictionary, asked, (copy, by) => this.options.search.list(copy, request, by));
  }

  stateOf(dictionary: string): IndexState {
    const loaded = this.#dictionaries.get(dictionary);
    return { loadState: loaded?.loadState ?? 'not-loaded', memoryBytes: loaded?.byteLength ?? 0 };
  }

  async load(dictionary: string, patienceMs: number): Promise<void> {
    const patience = new Patience(patienceMs, this.options.clock);
    await this.#withCopy(
      dictionary,
      (loaded) => loaded.liveGenerationCopy(patience),
      () => undefined,
    );
  }

  forget(dictionary: string): void {
    this.#dictionaries.get(dictionary)?.close();
    this.#dictionaries.delete(dictionary);
  }

  close(): void {
    this.#isClosed = true;
    for (const loaded of this.#dictionaries.values()) loaded.close();
    this.#dictionaries.clear();
    this.options.onClose();
  }

  #answer<T>(
    dictionary: string,
    { maxStalenessMs, patienceMs, caller }: AskedView,
    search: (copy: GenerationCopy, by: SearchCaller) => Promise<T>,
  ): Promise<T> {
    const patience = new Patience(Math.min(patienceMs, LONGEST_PATIENCE_MS), this.options.clock);
    const ask: AskForCopy = (loaded) =>
      loaded.copyNotOlderThan(maxStalenessMs) ?? loaded.checkedCopy(patience);
    return this.#withCopy(dictionary, ask, (copy) => search(copy, { caller, patience }));
  }

  /** Resolves to the result of `use`. Rejects with the caller's error. */
  async #withCopy<T>(
    dictionary: string,
    ask: AskForCopy,
    use: (copy: GenerationCopy) => T | Promise<T>,
  ): Promise<T> {
    try {
      return await readOf(this.#useCopy(dictionary, ask, use), dictionaryText(dictionary));
    } catch (error) {
      this.#forgetIfEmpty(dictionary);
      throw this.#callersError(error, dictionary);
    }
  }

  async #useCopy<T>(
    dictionary: string,
    ask: AskForCopy,
    use: (copy: GenerationCopy) => T | Promise<T>,
  ): Promise<T> {
    for (let attempt = 0; attempt < MOST_ATTEMPTS && !this.#isClosed; attempt += 1) {
      const copy = await ask(this.#use(dictionary));
      if (copy === undefined) continue;
      if ('kind' in copy) throw missingDictionary(dictionary, copy);
      // The copy may have been evicted since `ask` has answered. From this check to the start of the search, nothing
      // else runs.
      if (!copy.isClosed) return use(copy);
    }
    throw dictionaryLoading(dictionary);
  }

  #callersError(error: unknown, dictionary: string): unknown {
    if (error instanceof HoldfastError) return error;
    if (error instanceof OutOfPatience || error instanceof ThreadLost) {
      return dictionaryLoading(dictionary, this.#dictionaries.get(dictionary)?.progress);
    }
    if (error instanceof NoMemory) {
      return noMemoryForDictionary(dictionary, error, this.options.memory.budgetBytes);
    }
    return error;
  }

  #use(dictionary: string): LoadedDictionary {
    const loaded = this.#dictionaries.get(dictionary) ?? this.#newDictionary(dictionary);
    this.#dictionaries.delete(dictionary);
    this.#dictionaries.set(dictionary, loaded);
    loaded.onAsked();
    return loaded;
  }

  #newDictionary(name: string): LoadedDictionary {
    const freeSome = (isForLongBuild: boolean) => this.#freeSome(name, isForLongBuild);
    return new LoadedDictionary(name, {
      ...this.options,
      heads: this.#heads,
      loadRate: this.#loadRate,
      freeSome,
      onLoadEnd: () => this.#forgetIfEmpty(name),
    });
  }

  /**
   * Evicts the least recently used dictionary. False: no other dictionary has memory that the build may take. After its
   * eviction a dictionary could not come back until a long build ends, so long builds leave those in use.
   */
  #freeSome(exceptName: string, isForLongBuild: boolean): boolean {
    const inUseSince = isForLongBuild ? this.options.clock.now() - IN_USE_MS : Infinity;
    for (const [name, loaded] of this.#dictionaries) {
      if (name === exceptName || loaded.copy === undefined) continue;
      if (loaded.askedAt > inUseSince) return false;
      loaded.unload();
      this.#forgetIfEmpty(name);
      return true;
    }
    return false;
  }

  /** Forgets a dictionary without a copy, so that queries for unknown names take no memory. */
  #forgetIfEmpty(dictionary: string): void {
    if (this.#dictionaries.get(dictionary)?.loadState === 'not-loaded') this.forget(dictionary);
  }
}

export interface OpenIndexesOptions {
  readonly store: LoadedDictionariesOptions['store'];
  /** The memory for all indexes (bytes). */
  readonly budgetBytes: number;
  /** The number of processor cores that this process may use. */
  readonly coreCount: number;
  readonly clock: Clock;
  /** Receives the defects of background work. */
  readonly onDefect: (error: unknown) => void;
  /** Receives texts for the operator. */
  readonly onWarning: (text: string) => void;
  /** Tests set smaller limits, so that few writes make many layers. */
  readonly layerLimits?: LayerLimits;
}

/** Searches have the priority of the process, because callers wait for them. */
const SEARCH_NICE = 0;
/** Small builds come before large builds, and after the main thread. */
const SMALL_BUILD_NICE = 5;
const MEDIUM_BUILD_NICE = 8;
const LARGE_BUILD_NICE = 10;
/** On a single core, a medium or large build runs for at most half of the time. */
const SINGLE_CORE_DUTY = 0.5;

/** The indexes of this server, with four threads that start when they are needed. */
export function openIndexes(options: OpenIndexesOptions): LoadedDictionaries {
  const { budgetBytes, coreCount } = options;
  const longDuty = coreCount < 2 ? SINGLE_CORE_DUTY : 1;
  const threads = {
    search: new IndexThread({ nice: SEARCH_NICE, dutyCycle: 1 }),
    small: new IndexThread({ nice: SMALL_BUILD_NICE, dutyCycle: 1 }),
    medium: new IndexThread({ nice: MEDIUM_BUILD_NICE, dutyCycle: longDuty }),
    large: new IndexThread({ nice: LARGE_BUILD_NICE, dutyCycle: longDuty }),
  };
  const memory = new IndexMemory(budgetBytes);
  return new LoadedDictionaries({
    ...options,
    memory,
    builds: new LayerBuilds(threads, memory),
    search: new CopySearch(threads.search),
    onClose: () => Object.values(threads).forEach((thread) => void thread.close()),
  });
}
