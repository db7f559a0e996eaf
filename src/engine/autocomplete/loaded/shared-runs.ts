/**
 * Shares the runs of one piece of work. Whoever asks gets the result of a run that began after the question. At most one
 * run is in progress, and one more waits for its end.
 */
export class SharedRuns<T> {
  #current: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  constructor(private readonly work: () => Promise<T>) {}

  /** True: a run is in progress or waits. */
  get inProgress(): boolean {
    return this.#current !== undefined || this.#next !== undefined;
  }

  /** Resolves or rejects with a run that begins after this call. */
  begunAfterNow(): Promise<T> {
    if (this.#next) return this.#next;
    if (!this.#current) return this.#begin();
    this.#next = this.#current
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.#begin();
      });
    return this.#next;
  }

  #begin(): Promise<T> {
    this.#current = this.work().finally(() => (this.#current = undefined));
    return this.#current;
  }
}
