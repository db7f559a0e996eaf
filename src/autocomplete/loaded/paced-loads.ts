import type { Clock } from '../../base/clock';
import type { Missing } from '../entry-store';
import { loadCopy, type LoadStore } from './dictionary-load';
import type { CopyOptions, GenerationCopy } from './generation-copy';
import type { HeadReads } from './head-reads';
import { newCancelFlag } from './layer-builds';
import { LoadBackoff } from './load-backoff';
import { LoadProgress } from './load-progress';
import type { LoadRate } from '../../flow/load-rate';

export interface PacedLoadsOptions {
  readonly store: LoadStore;
  readonly heads: HeadReads;
  readonly loadRate: LoadRate;
  readonly clock: Clock;
}

/** The loads of one dictionary, at the pace that all dictionaries and its own failures permit. */
export class PacedLoads {
  readonly #backoff: LoadBackoff;
  readonly #cancelFlag = newCancelFlag();
  #progress: LoadProgress | undefined;

  constructor(
    private readonly name: string,
    private readonly options: PacedLoadsOptions,
  ) {
    this.#backoff = new LoadBackoff(options.clock);
  }

  /** True: the last load has failed because of the dictionary. */
  get hasFailed(): boolean {
    return this.#backoff.hasFailed;
  }

  /** Of the load that is in progress, or of the last load. */
  get progress(): LoadProgress | undefined {
    return this.#progress;
  }

  get isClosed(): boolean {
    return Atomics.load(this.#cancelFlag, 0) !== 0;
  }

  /** Cancels the loads. No load begins any more. */
  close(): void {
    Atomics.store(this.#cancelFlag, 0, 1);
  }

  /** Undefined: closed. Rejects with a `StoreFailure`, with `NoMemory` or with `ThreadLost`. */
  async load(options: Omit<CopyOptions, 'profile'>): Promise<GenerationCopy | Missing | undefined> {
    if (this.isClosed) return undefined;
    try {
      return await this.#backoff.run(() => this.#loadInTurn(options));
    } catch (error) {
      if (this.isClosed) return undefined;
      throw error;
    }
  }

  async #loadInTurn(options: Omit<CopyOptions, 'profile'>): Promise<GenerationCopy | Missing> {
    const { loadRate, heads, store, clock } = this.options;
    const progress = new LoadProgress(clock);
    this.#progress = progress;
    if (!loadRate.isFree) {
      // Many loads wait. The head is read first, so that a dictionary that does not exist takes no place in the queue.
      const { head } = await heads.read(this.name);
      if (head.kind !== 'head') return head;
    }
    await loadRate.pass();
    return loadCopy(this.name, store, options, this.#cancelFlag, progress);
  }
}
