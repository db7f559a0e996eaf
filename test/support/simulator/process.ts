import type { Micros } from '../history';
import type { ManualLoop } from './loop';

/** A process that can be stopped (what comes in waits for it) and killed (what comes in is gone). */
export class SimProcess {
  alive = true;
  private stopped = false;
  private readonly backlog: (() => void)[] = [];

  constructor(
    readonly name: string,
    protected readonly loop: ManualLoop,
  ) {}

  /** Runs something that reached the process: a message, or a timer of its own. */
  run(work: () => void): void {
    if (!this.alive) return;
    if (this.stopped) this.backlog.push(work);
    else work();
  }

  after(delay: Micros, work: () => void): void {
    this.loop.after(delay, () => this.run(work));
  }

  stop(): void {
    this.stopped = true;
  }

  continue(): void {
    this.stopped = false;
    while (this.alive && !this.stopped) {
      const work = this.backlog.shift();
      if (work === undefined) return;
      work();
    }
  }

  kill(): void {
    this.alive = false;
    this.backlog.length = 0;
  }
}
