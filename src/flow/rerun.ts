import type { Clock, Timer } from '../base/clock';

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

  /** True: a run that will begin after this moment is asked for already. */
  get isNextDue(): boolean {
    return this.next !== undefined;
  }

  /** Resolves or rejects with a run that begins after this call. Calls that come together share a run. */
  begunAfterNow(): Promise<T> {
    this.next ??= this.begin(this.current);
    return this.next;
  }

  private async begin(before: Promise<T> | undefined): Promise<T> {
    await before?.catch(() => undefined);
    this.next = undefined;
    this.current = this.work().finally(() => (this.current = undefined));
    return this.current;
  }
}

/** Runs a task for each key: one run at a time, and one more run if the key was asked for meanwhile. */
export class Reruns {
  /** The keys with a run in progress. True: one more run follows. */
  private readonly inProgress = new Map<string, boolean>();

  constructor(private readonly onError: (error: unknown) => void) {}

  /** A failed run is reported, and counts as a run. */
  run(key: string, work: () => Promise<unknown>): void {
    if (this.inProgress.has(key)) this.inProgress.set(key, true);
    else void this.runAll(key, work);
  }

  private async runAll(key: string, work: () => Promise<unknown>): Promise<void> {
    do {
      this.inProgress.set(key, false);
      await work().catch(this.onError);
    } while (this.inProgress.get(key) === true);
    this.inProgress.delete(key);
  }
}

export interface RoundsOptions {
  readonly clock: Clock;
  /** From the end of a round to the start of the next. */
  readonly pauseMs: number;
  /** Default: `pauseMs`. */
  readonly firstMs?: number;
  readonly onError: (error: Error) => void;
}

/** Repeats a task until `end`. A failed round is reported, and the next one follows as after any other. */
export class Rounds {
  private timer: Timer;
  private hasEnded = false;

  constructor(
    private readonly options: RoundsOptions,
    private readonly round: () => Promise<unknown>,
  ) {
    this.timer = this.next(options.firstMs ?? options.pauseMs);
  }

  end(): void {
    this.hasEnded = true;
    this.timer.cancel();
  }

  private next(pauseMs: number): Timer {
    return this.options.clock.after(pauseMs, () => void this.runOne());
  }

  private async runOne(): Promise<void> {
    try {
      await this.round().catch(this.options.onError);
    } finally {
      if (!this.hasEnded) this.timer = this.next(this.options.pauseMs);
    }
  }
}
