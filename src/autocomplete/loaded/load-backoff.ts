import type { Clock } from '../../base/clock';
import { StoreFailure } from '../../base/errors';
import { ThreadLost } from '../../base/task-thread';
import { GrowingPause } from '../../flow/growing-pause';
import { NoMemory } from './layer-builds';

/** A single crash may have another cause than the dictionary. */
const CRASHES_WITHOUT_PAUSE = 1;

/**
 * Limits the loads of a dictionary that cannot be loaded, because each load costs time of the store and of a thread.
 * A pause follows each load that did not fit into the memory. A pause also follows each load that crashed the thread
 * of its build, except the first such load.
 */
export class LoadBackoff {
  #crashCount = 0;
  #lastError: unknown;
  readonly #pause: GrowingPause;

  constructor(clock: Clock) {
    this.#pause = new GrowingPause(clock);
  }

  /**
   * True: the last load has failed because of the dictionary. A failure of the store is no failure of the dictionary.
   */
  get hasFailed(): boolean {
    return this.#lastError !== undefined;
  }

  /** Loads the dictionary. During a pause, rejects with the error of the last load. */
  async run<T>(load: () => Promise<T>): Promise<T> {
    if (!this.#pause.isOver) throw this.#lastError;
    try {
      const loaded = await load();
      this.#crashCount = 0;
      this.#lastError = undefined;
      this.#pause.reset();
      return loaded;
    } catch (error) {
      this.#lastError = error instanceof StoreFailure ? undefined : error;
      if (this.#needsPause(error)) this.#pause.begin();
      throw error;
    }
  }

  #needsPause(error: unknown): boolean {
    if (error instanceof ThreadLost) return (this.#crashCount += 1) > CRASHES_WITHOUT_PAUSE;
    // A load beside an older copy may fit when the copy is freed.
    return error instanceof NoMemory && error.heldBytes === 0;
  }
}
