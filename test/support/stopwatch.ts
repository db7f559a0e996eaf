import { readFileSync } from 'node:fs';

/** The time since its start for which a process was ready but had no core. 0 if the system does not count this time. */
export function coreWaitMs(pid: number): number {
  try {
    const [, waitedNanos = '0'] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
    return Number(waitedNanos) / 1_000_000;
  } catch {
    return 0; // The process has ended, or the system is not Linux.
  }
}

/** The time that some processes spend waiting for a core, from the start of the measurement. */
class CoreWaits {
  private readonly before: ReadonlyMap<number, number>;

  constructor(private readonly pids: () => readonly number[]) {
    this.before = new Map(pids().map((pid) => [pid, coreWaitMs(pid)]));
  }

  totalMs(): number {
    return this.pids().reduce(
      (sum, pid) => sum + Math.max(0, coreWaitMs(pid) - (this.before.get(pid) ?? 0)),
      0,
    );
  }
}

/**
 * Measures a time span for a bound that the product guarantees. Waits for a core are subtracted, so that the load of
 * the machine does not count.
 */
export class Stopwatch {
  private readonly startedAt = performance.now();
  private readonly waits: CoreWaits;

  /** `pids` may change. A process that starts later counts from its start. */
  constructor(pids: () => readonly number[] = () => [process.pid]) {
    this.waits = new CoreWaits(pids);
  }

  /** The whole span, including the waits for a core. */
  get elapsedMs(): number {
    return performance.now() - this.startedAt;
  }

  get coreWaitMs(): number {
    return this.waits.totalMs();
  }

  /** The span without the waits for a core. */
  get chargedMs(): number {
    return this.elapsedMs - this.coreWaitMs;
  }
}

const SAMPLE_MS = 250;
/** Longer than every chain of messages that a checker bounds by its latency. */
const WINDOW_MS = 2000;

/** Samples the delay that a busy machine can cause in a chain of messages between some processes. */
export class DelaySampler {
  private readonly samples: { readonly at: number; readonly delayMs: number }[] = [];
  private readonly timer: NodeJS.Timeout;
  private waits: CoreWaits;
  private last = performance.now();

  constructor(private readonly pids: () => readonly number[]) {
    this.waits = new CoreWaits(pids);
    this.timer = setInterval(() => this.sample(), SAMPLE_MS);
    this.timer.unref();
  }

  /** The longest delay within any window of two seconds. */
  worstMs(): number {
    this.sample();
    const worst = this.samples.map(({ at }) =>
      this.samples
        .filter((sample) => sample.at <= at && sample.at > at - WINDOW_MS)
        .reduce((sum, { delayMs }) => sum + delayMs, 0),
    );
    return Math.max(0, ...worst);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private sample(): void {
    const at = performance.now();
    // On systems that do not count waits for a core, the lateness of the timer is the measure.
    const lateMs = Math.max(0, at - this.last - SAMPLE_MS);
    this.samples.push({ at, delayMs: Math.max(lateMs, this.waits.totalMs()) });
    this.last = at;
    this.waits = new CoreWaits(this.pids);
  }
}
