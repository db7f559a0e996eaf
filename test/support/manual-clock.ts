import type { Clock, Timer } from '../../src/base/clock';

interface Pending {
  readonly due: number;
  readonly order: number;
  readonly run: () => void;
}

/** Resolves after all promises that can settle now have settled. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A clock that only the test moves. */
export class ManualClock implements Clock {
  private readonly timers = new Set<Pending>();
  private count = 0;

  constructor(private time = 0) {}

  now(): number {
    return this.time;
  }

  after(delayMs: number, run: () => void): Timer {
    const pending = { due: this.time + Math.max(delayMs, 0), order: this.count++, run };
    this.timers.add(pending);
    return { cancel: () => this.timers.delete(pending) };
  }

  /** Timers that have not run yet. */
  get timerCount(): number {
    return this.timers.size;
  }

  /** Advances the clock. Each due timer runs at its own time, and its promises settle before the next timer runs. */
  async advance(ms: number): Promise<void> {
    const target = this.time + ms;
    for (;;) {
      await settled();
      const next = this.earliest();
      if (!next || next.due > target) break;
      this.time = Math.max(this.time, next.due);
      this.timers.delete(next);
      next.run();
    }
    this.time = Math.max(this.time, target);
  }

  /** Lets time pass while a step of the program runs: no timer runs in between. */
  pass(ms: number): void {
    this.time += ms;
  }

  /** Jumps like the clock of a suspended process. All timers in the skipped time run now, late. */
  async jump(ms: number): Promise<void> {
    this.time += ms;
    await this.advance(0);
  }

  private earliest(): Pending | undefined {
    let first: Pending | undefined;
    for (const timer of this.timers) {
      if (!first || timer.due < first.due || (timer.due === first.due && timer.order < first.order))
        first = timer;
    }
    return first;
  }
}
