/** A step is about one read or write in an array: 2 to 20 ns. So a slice takes about 1 ms, and rarely more than 3 ms. */
const STEPS_OF_A_SLICE = 150_000;

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
