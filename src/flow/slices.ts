import type { Clock } from '../base/clock';

/** The longest time that a step may hold the main thread (ms). */
const LONGEST_SLICE_MS = 0.5;

/** Divides work on the main thread into slices, so that other calls run in between. */
export class Slices {
  #endsAt: number;

  constructor(private readonly clock: Clock) {
    this.#endsAt = clock.now() + LONGEST_SLICE_MS;
  }

  /** True: the caller should await `pause` before the next step. */
  get isOver(): boolean {
    return this.clock.now() >= this.#endsAt;
  }

  async pause(): Promise<void> {
    await new Promise(setImmediate);
    this.#endsAt = this.clock.now() + LONGEST_SLICE_MS;
  }
}
