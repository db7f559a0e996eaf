import type { Clock, Timer } from './clock';
import type { Log } from './meters';

export interface SampleBounds {
  readonly intervalMs: number;
  /** The most lines with one key in one interval. */
  readonly linesOfKey: number;
  /** The bound of keys with lines of their own in one interval. All further keys share their lines. */
  readonly keys: number;
}

interface Counter {
  lines: number;
  suppressed: number;
  readonly counted: () => object;
}

/** The key of all keys above their bound. */
const FURTHER = '';

/**
 * Writes the first lines of each key in an interval. A flood of events costs few lines, and does not hide the events of
 * other keys. Events without a line are counted in a line at the end of the interval.
 */
export class SampledLines {
  private readonly counters = new Map<string, Counter>();
  private timer: Timer | undefined;

  /** @param message the message of the lines with counts */
  constructor(
    private readonly log: Log,
    private readonly clock: Clock,
    private readonly bounds: SampleBounds,
    private readonly message: string,
  ) {}

  /** @param counted the fields of the line with the count of `key`, or of several keys */
  add(key: string, counted: (isSeveral: boolean) => object, write: () => void): void {
    const isSeveral = !this.counters.has(key) && this.counters.size >= this.bounds.keys;
    const counter = this.counterOf(isSeveral ? FURTHER : key, () => counted(isSeveral));
    if (counter.lines >= this.bounds.linesOfKey) {
      counter.suppressed += 1;
      return;
    }
    counter.lines += 1;
    write();
  }

  /** Writes the counts. */
  close(): void {
    this.timer?.cancel();
    this.endInterval();
  }

  private counterOf(key: string, counted: () => object): Counter {
    let counter = this.counters.get(key);
    if (counter === undefined) this.counters.set(key, (counter = { lines: 0, suppressed: 0, counted }));
    this.timer ??= this.clock.after(this.bounds.intervalMs, () => this.endInterval());
    return counter;
  }

  private endInterval(): void {
    this.timer = undefined;
    for (const { suppressed, counted } of this.counters.values()) {
      if (suppressed > 0) this.log.warn({ ...counted(), suppressed }, this.message);
    }
    this.counters.clear();
  }
}
