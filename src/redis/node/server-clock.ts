/**
 * Twice the difference of rates for which offsets are shortened (lease.ts), because a time server may also
 * adjust the rate of Redis's clock. A wider range makes `not_after` earlier, never later.
 */
const DRIFT = 0.001;
/** Smaller steps count as ordinary corrections by a time server. */
const TOLERANCE_MS = 100;
/** The decrease of `tolerated` per millisecond: after 200 s without steps, nothing is left. */
const FORGIVENESS = 0.0005;

/** One reading of Redis's clock, between two readings of the monotonic clock; all in milliseconds. */
export interface ClockSample {
  readonly time: number;
  readonly sentAt: number;
  readonly receivedAt: number;
}

/**
 * Redis's clock, compared with this process's monotonic clock. Each reading shows that the difference of the clocks is
 * between `time - receivedAt` and `time - sentAt`. The intersection of all readings soon becomes narrow, even if some
 * readings were slow. A reading outside the intersection shows that Redis's clock was set.
 */
export class ServerClock {
  private least = -Infinity;
  private most = Infinity;
  private at = -Infinity;
  /** The sum of the forward steps that were too small to report (ms). */
  private tolerated = 0;

  /** Takes a reading. Returns how far Redis's clock was set forward since the last reading (ms); negative: set back. */
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

  /** The earliest possible Redis time at the time `at` of the monotonic clock (ms). -Infinity before the first reading. */
  timeAt(at: number): number {
    return at + this.least;
  }

  forget(): void {
    this.least = -Infinity;
    this.most = Infinity;
    this.at = -Infinity;
    this.tolerated = 0;
  }

  /** When the last reading was taken (ms, monotonic clock). */
  get takenAt(): number {
    return this.at;
  }
}

/** Redis's time as this server knows it, and how far Redis's clock was set forward. */
export class StoreTime {
  private readonly serverClock = new ServerClock();
  /** How far Redis's clock was found set forward (us); 0 again when all epochs have taken the step into account. */
  setForwardUs = 0;

  /** The earliest possible Redis time at the time `at` of the monotonic clock (ms). */
  at(at: number): number {
    return this.serverClock.timeAt(at);
  }

  /** The epoch argument `not_after` for a deadline by the monotonic clock (us of Redis's clock). */
  notAfterUs(deadline: number): number {
    return Math.floor(this.serverClock.timeAt(deadline) * 1000);
  }

  /** Takes a reading of Redis's clock. True: the clock was set forward. */
  take(sample: ClockSample, longestQuarantineMs: number): boolean {
    // Every lease granted before the last reading has ended by now, whether or not the clock was set since.
    if (sample.receivedAt - this.serverClock.takenAt > longestQuarantineMs) this.serverClock.forget();
    const stepMs = this.serverClock.take(sample);
    if (stepMs <= 0) return false;
    this.setForwardUs = Math.max(this.setForwardUs, Math.ceil(stepMs * 1000));
    return true;
  }
}
