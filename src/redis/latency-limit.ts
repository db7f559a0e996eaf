export interface LatencyLimitOptions {
  readonly least: number;
  readonly initial: number;
}

const MOST = 4096;
/** How long commands may wait in Redis, on average (ms). */
const QUEUEING_MS = 3;
/**
 * The shortest delay is measured again after this time, because clocks drift, and the network path to Redis may change
 * (ms).
 */
const FLOOR_VALID_MS = 5000;
const LARGEST_CHANGE = 2;
/** The number of commands in flight while the shortest delay is measured. */
const MEASURING_COUNT = 2;

/**
 * How many commands may be in flight. The limit is chosen so that a command waits in Redis for `QUEUEING_MS` on
 * average. More commands would only queue in Redis, where a later and more urgent command cannot overtake them.
 *
 * The wait is measured one way, as in LEDBAT (RFC 6817): from the moment when a command left this process to the moment
 * when its script ran, by the clock of Redis; for operations that share a command, when the command began. The shortest such
 * delay is the delay without a wait, so the difference of the two clocks does not matter. The delay does not contain the time
 * that a reply waits until this process reads it.
 */
export class LatencyLimit {
  private limit: number;
  /** The shortest delay (ms). */
  private floorMs = Infinity;
  private floorMeasuredAt = -Infinity;
  /** A round counts only commands that left after its beginning: older commands show the effect of an older limit. */
  private roundSince = -Infinity;
  /** True: few commands are sent in this round, so that the shortest delay shows. */
  private measuring = false;
  private count = 0;
  private sumMs = 0;
  private shortestMs = Infinity;
  private wasFull = false;

  constructor(private readonly options: LatencyLimitOptions) {
    this.limit = options.initial;
  }

  get current(): number {
    return this.measuring ? MEASURING_COUNT : this.limit;
  }

  /** Notes that a command had to wait, because the limit was reached. A limit that is not reached stays as it is. */
  full(): void {
    this.wasFull = true;
  }

  /** Takes the times of an answered command: when it left this process, and when its script ran by Redis's clock (ms). */
  answered(leftAt: number, ranAt: number, now: number): void {
    if (leftAt < this.roundSince) return;
    const delayMs = ranAt - leftAt;
    this.count += 1;
    this.sumMs += delayMs;
    this.shortestMs = Math.min(this.shortestMs, delayMs);
    if (this.count >= this.current) this.endRound(now);
  }

  private endRound(now: number): void {
    if (this.measuring || this.shortestMs <= this.floorMs) {
      this.floorMs = this.shortestMs;
      this.floorMeasuredAt = now;
    }
    if (!this.measuring && this.wasFull) this.adjust(this.sumMs / this.count - this.floorMs);
    this.measuring = this.wasFull && now - this.floorMeasuredAt > FLOOR_VALID_MS;
    this.roundSince = now;
    this.count = 0;
    this.sumMs = 0;
    this.shortestMs = Infinity;
    this.wasFull = false;
  }

  private adjust(queueingMs: number): void {
    const change = QUEUEING_MS / Math.max(queueingMs, QUEUEING_MS / LARGEST_CHANGE);
    const limit = Math.round(this.limit * Math.max(change, 1 / LARGEST_CHANGE));
    this.limit = Math.min(Math.max(limit, this.options.least), MOST);
  }
}
