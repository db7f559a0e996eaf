import type { Clock } from '../../engine/clock';

/** Lets any number of callers wait for the next change of something. */
export class ChangeSignal {
  private readonly waiting = new Set<() => void>();
  private closed = false;

  constructor(private readonly clock: Clock) {}

  /** False when nothing has changed by then, or nothing will any more. */
  before(deadline: number): Promise<boolean> {
    const left = deadline - this.clock.now();
    if (this.closed || left <= 0) return Promise.resolve(false);
    return new Promise((resolve) => {
      const finish = (changed: boolean) => {
        timer.cancel();
        this.waiting.delete(wake);
        resolve(changed);
      };
      const wake = () => finish(!this.closed);
      const timer = this.clock.after(left, () => finish(false));
      this.waiting.add(wake);
    });
  }

  changed(): void {
    for (const wake of [...this.waiting]) wake();
  }

  close(): void {
    this.closed = true;
    this.changed();
  }
}
