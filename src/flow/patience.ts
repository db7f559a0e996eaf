import type { Clock } from '../base/clock';

/** A load took longer than the caller can wait. The load continues. */
export class OutOfPatience extends Error {
  override readonly name = 'OutOfPatience';
}

/** How long a caller can wait, from now on. */
export class Patience {
  readonly #endsAt: number;

  constructor(
    patienceMs: number,
    private readonly clock: Clock,
  ) {
    this.#endsAt = clock.now() + patienceMs;
  }

  /** True: the caller waits no longer. */
  get isOver(): boolean {
    return this.#endsAt <= this.clock.now();
  }

  /** Resolves or rejects with the load, or rejects with `OutOfPatience`. */
  async waitFor<T>(load: Promise<T>): Promise<T> {
    const restMs = Math.max(0, this.#endsAt - this.clock.now());
    let timer: ReturnType<Clock['after']> | undefined;
    const timeout = new Promise<never>((_, reject) => {
      timer = this.clock.after(restMs, () => reject(new OutOfPatience(`after ${restMs} ms`)));
    });
    try {
      return await Promise.race([load, timeout]);
    } finally {
      timer?.cancel();
    }
  }
}
