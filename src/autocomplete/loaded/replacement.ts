import type { Clock } from '../../base/clock';
import { GrowingPause } from '../../flow/growing-pause';

/** How long the copy of a replaced generation may answer. */
const REPLACED_COPY_MS = 60_000;

/** The live generation that has replaced the generation of a copy. Loads the live generation beside the copy. */
export class Replacement {
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
