import { readFileSync } from 'node:fs';

/** For how long a process was ready to run and had no core, since its start. 0 where the system does not count it. */
export function coreWaitMs(pid: number): number {
  try {
    const [, waitedNanos = '0'] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
    return Number(waitedNanos) / 1_000_000;
  } catch {
    return 0; // the process has ended, or this is not Linux
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
 * Measures a span for a bound that the product guarantees. A busy machine does not count: the time for which one of
 * the processes that take part was ready to run and had no core is subtracted.
 */
export class Stopwatch {
  private readonly startedAt = performance.now();
  private readonly waits: CoreWaits;

  /** `pids` may change: a process that starts later counts from its start. */
  constructor(pids: () => readonly number[] = () => [process.pid]) {
    this.waits = new CoreWaits(pids);
  }

  /** The whole span, waits for a core included. */
  get elapsedMs(): number {
    return performance.now() - this.startedAt;
  }

  /** The waits for a core. */
  get coreWaitMs(): number {
    return this.waits.totalMs();
  }

  /** The span without the waits for a core. */
  get chargedMs(): number {
    return this.elapsedMs - this.coreWaitMs;
  }
}

const SAMPLE_MS = 250;
/** Longer than any chain of messages that a checker bounds by its latency. */
const WINDOW_MS = 2000;

/** Samples how long a busy machine can have delayed a chain of messages between some processes. */
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
    // The timer's own lateness covers systems that do not count waits for a core.
    const lateMs = Math.max(0, at - this.last - SAMPLE_MS);
    this.samples.push({ at, delayMs: Math.max(lateMs, this.waits.totalMs()) });
    this.last = at;
    this.waits = new CoreWaits(this.pids);
  }
}
