import type { Micros } from '../history';
import type { ManualLoop } from './loop';

/**
 * A process that can be paused and killed. Messages to a paused process wait. Messages to a killed process are lost.
 */
export class SimProcess {
  alive = true;
  private stopped = false;
  private readonly backlog: (() => void)[] = [];

  constructor(
    readonly name: string,
    protected readonly loop: ManualLoop,
  ) {}

  /** Runs the handler of a message or of a timer. */
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
