/**
 * Shares the runs of one task. Each caller gets the result of a run that began after the call. At most one run is in
 * progress, and at most one run waits for its end.
 */
export class SharedRuns<T> {
  private current: Promise<T> | undefined;
  private next: Promise<T> | undefined;

  constructor(private readonly work: () => Promise<T>) {}

  /** True: a run is in progress or waits. */
  get inProgress(): boolean {
    return this.current !== undefined || this.next !== undefined;
  }

  /** Resolves or rejects with a run that begins after this call. */
  begunAfterNow(): Promise<T> {
    if (this.next) return this.next;
    if (!this.current) return this.begin();
    this.next = this.current
      .catch(() => undefined)
      .then(() => {
        this.next = undefined;
        return this.begin();
      });
    return this.next;
  }

  private begin(): Promise<T> {
    this.current = this.work().finally(() => (this.current = undefined));
    return this.current;
  }
}
