import type { Clock } from '../base/clock';

/** Lets any number of callers wait for the next call of `changed`. */
export class ChangeSignal {
  private readonly waiting = new Set<() => void>();
  private closed = false;

  constructor(private readonly clock: Clock) {}

  /** Resolves with false if nothing changes before the deadline, or after `close`. */
  before(deadline: number): Promise<boolean> {
    const remainingMs = deadline - this.clock.now();
    if (this.closed || remainingMs <= 0) return Promise.resolve(false);
    return new Promise((resolve) => {
      const finish = (changed: boolean) => {
        timer.cancel();
        this.waiting.delete(onChange);
        resolve(changed);
      };
      const onChange = () => finish(!this.closed);
      const timer = this.clock.after(remainingMs, () => finish(false));
      this.waiting.add(onChange);
    });
  }

  changed(): void {
    for (const onChange of [...this.waiting]) onChange();
  }

  close(): void {
    this.closed = true;
    this.changed();
  }
}
