import { residentBytes } from './cpu';

const INTERVAL_MS = 100;

/** Watches the resident memory of a process. */
export class MemorySampler {
  private readonly timer: NodeJS.Timeout;
  /** The largest resident memory so far (bytes). */
  peak: number;

  constructor(private readonly pid: number) {
    this.peak = residentBytes(pid);
    this.timer = setInterval(() => {
      this.peak = Math.max(this.peak, this.now());
    }, INTERVAL_MS);
  }

  /** The resident memory (bytes). 0 if the process has ended. */
  now(): number {
    try {
      return residentBytes(this.pid);
    } catch {
      return 0;
    }
  }

  stop(): void {
    clearInterval(this.timer);
  }
}
