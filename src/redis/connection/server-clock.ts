/** Twice the 500 ppm by which the rates of two clocks may differ: ours may be fast and Redis's slow. */
const DRIFT = 0.001;
/** Differences up to this are taken for what time servers do in ordinary service. */
const TOLERANCE_MS = 100;
/** Of what was tolerated, so much is forgotten a millisecond: the tolerance in little more than a usual longest ttl. */
const FORGIVENESS = 0.0005;

/** One reading of Redis's clock, between two of our own; all in milliseconds. */
export interface ClockSample {
  readonly time: number;
  readonly sentAt: number;
  readonly receivedAt: number;
}

/**
 * Redis's clock as seen from here, against a monotonic one. A reading says that the two differ by something between
 * `time - receivedAt` and `time - sentAt`; what all readings have in common is narrow soon, however slow some were. A
 * reading that has nothing in common with the others shows that Redis's clock was set.
 */
export class ServerClock {
  private least = -Infinity;
  private most = Infinity;
  private at = -Infinity;
  /** How far it was set forward in steps too small to be told of. */
  private tolerated = 0;

  /** Takes a reading; by how much Redis's clock was set forward since the last one (ms; less than 0: set back). */
  take({ time, sentAt, receivedAt }: ClockSample): number {
    const elapsed = this.at === -Infinity ? 0 : Math.max(0, receivedAt - this.at);
    const drift = elapsed * DRIFT;
    const [least, most] = [time - receivedAt, time - sentAt];
    const forward = least - (this.most + drift);
    const back = this.least - drift - most;
    this.at = receivedAt;
    this.tolerated = Math.max(0, this.tolerated - elapsed * FORGIVENESS);
    if (forward <= 0 && back <= 0) {
      this.least = Math.max(this.least - drift, least);
      this.most = Math.min(this.most + drift, most);
      return 0;
    }
    [this.least, this.most] = [least, most];
    if (back > 0) return back > TOLERANCE_MS ? -back : 0;
    this.tolerated += forward;
    if (this.tolerated <= TOLERANCE_MS) return 0;
    const step = this.tolerated;
    this.tolerated = 0;
    return step;
  }

  /** What Redis's clock will show at our time `at`, rather too little than too much (ms); -Infinity before a reading. */
  timeAt(at: number): number {
    return at + this.least;
  }

  /** Forgets what is older than anything that depends on it. */
  forget(): void {
    this.least = -Infinity;
    this.most = Infinity;
    this.at = -Infinity;
    this.tolerated = 0;
  }

  /** When the last reading was taken, by our clock. */
  get takenAt(): number {
    return this.at;
  }
}
