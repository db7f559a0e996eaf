import { type Clock, systemClock, type Timer } from '../../src/base/clock';
import { type Runtime, systemIdentities } from '../../src/base/runtime';

/** A runtime on this clock, whose random numbers are 0.5. Defects and warnings are dropped. */
export function runtimeOn(clock: Clock, parts: Partial<Runtime> = {}): Runtime {
  const identities = { ...systemIdentities, random: () => 0.5 };
  return { clock, identities, defect: () => undefined, warn: () => undefined, ...parts };
}

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

/** The clock of the system, which can leap ahead. So a test decides when a long time has passed. */
export class LeapingClock implements Clock {
  private leaptMs = 0;
  private readonly waiting = new Set<{ readonly dueAt: number; readonly run: () => void }>();

  now(): number {
    return systemClock.now() + this.leaptMs;
  }

  after(delayMs: number, run: () => void): Timer {
    const due = {
      dueAt: this.now() + delayMs,
      run: () => {
        timer.cancel();
        if (this.waiting.delete(due)) run();
      },
    };
    const timer = systemClock.after(delayMs, due.run);
    this.waiting.add(due);
    return {
      cancel: () => {
        timer.cancel();
        this.waiting.delete(due);
      },
    };
  }

  leap(ms: number): void {
    this.leaptMs += ms;
    for (const { dueAt, run } of [...this.waiting]) if (dueAt <= this.now()) run();
  }
}

/** A timer never runs early by an error of the floating point. */
const ROUNDING_MS = 1e-6;

/** A clock that runs faster or slower than the world's clock, and shows another time. */
export class RatedClock implements Clock {
  constructor(
    private readonly world: ManualClock,
    /** The time that this clock counts while the world counts one. */
    readonly rate: number,
    private readonly startedAt: number,
  ) {}

  now(): number {
    return this.startedAt + this.world.now() * this.rate;
  }

  after(delayMs: number, run: () => void): Timer {
    return this.world.after(Math.max(delayMs, 0) / this.rate + ROUNDING_MS, run);
  }
}
