import { ServerClock, type ClockSample } from './server-clock';

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
