import type { Clock } from '../../clock';
import { ThreadLost } from '../../task-thread';

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
/** A single crash may have another cause than the dictionary. */
const CRASHES_WITHOUT_PAUSE = 1;

/**
 * Keeps a dictionary that crashes the thread of its build from crashing it again and again. After two crashes each next
 * load waits longer.
 */
export class LoadBackoff {
  #crashCount = 0;
  #failed = false;
  #notBefore = -Infinity;
  #lastError: unknown;

  constructor(private readonly clock: Clock) {}

  /** True: the last load has failed. */
  get hasFailed(): boolean {
    return this.#failed;
  }

  /** Loads, or rejects with the error of the last load during the pause after it. */
  async run<T>(load: () => Promise<T>): Promise<T> {
    if (this.clock.now() < this.#notBefore) throw this.#lastError;
    try {
      const loaded = await load();
      this.#crashCount = 0;
      this.#failed = false;
      return loaded;
    } catch (error) {
      this.#failed = true;
      if (error instanceof ThreadLost) this.#onCrash(error);
      throw error;
    }
  }

  #onCrash(error: ThreadLost): void {
    this.#crashCount += 1;
    this.#lastError = error;
    const pauses = this.#crashCount - CRASHES_WITHOUT_PAUSE - 1;
    if (pauses >= 0) {
      this.#notBefore = this.clock.now() + Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** pauses);
    }
  }
}
