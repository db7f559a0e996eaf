/**
 * Shares the runs of one piece of work. Whoever asks gets the result of a run that began after the question. At most one
 * run is in progress, and one more waits for its end.
 */
export class SharedRuns {
  #current: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(private readonly work: () => Promise<void>) {}

  get inProgress(): boolean {
    return this.#current !== undefined;
  }

  /** Resolves or rejects with a run that begins after this call. */
  begunAfterNow(): Promise<void> {
    if (this.#current === undefined) return this.#begin();
    this.#next ??= this.#current
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.#begin();
      });
    return this.#next;
  }

  #begin(): Promise<void> {
    this.#current = this.work().finally(() => (this.#current = undefined));
    return this.#current;
  }
}
