import { systemClock, type Clock, type Timer } from '../../src/base/clock';

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
