/** A step is about one read or write of a random position in an array: 2 to 10 ns. So a slice takes less than 5 ms. */
const STEPS_OF_A_SLICE = 300_000;

/** Divides long work into slices. After each slice, `onSlice` may pause the thread, or throw to cancel the work. */
export class WorkMeter {
  #left = STEPS_OF_A_SLICE;
  #slices = 0;

  constructor(private readonly onSlice: () => void = () => undefined) {}

  /** All steps so far. */
  get steps(): number {
    return this.#slices * STEPS_OF_A_SLICE + STEPS_OF_A_SLICE - this.#left;
  }

  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left <= 0) this.#endSlice();
  }

  #endSlice(): void {
    this.#left += STEPS_OF_A_SLICE;
    this.#slices += 1;
    this.onSlice();
  }
}
