import { ServerClock, type ClockSample } from '../connection/server-clock';

/** Redis's time as this server knows it, and how far Redis's clock was set forward. */
export class StoreTime {
  private readonly serverClock = new ServerClock();
  /** How far Redis's clock was found set forward (us); 0 again when all epochs have taken the step into account. */
  setForwardUs = 0;

  /** What Redis's clock shows at `at` of our clock, rather too little than too much (ms). */
  at(at: number): number {
    return this.serverClock.timeAt(at);
  }

  /** As an epoch argument: a script must do nothing after the deadline (us of Redis's clock). */
  notAfterUs(deadline: number): number {
    return Math.floor(this.serverClock.timeAt(deadline) * 1000);
  }

  /** Takes a reading of Redis's clock. True: the clock was set forward. */
  take(sample: ClockSample, longestQuarantineMs: number): boolean {
    // By now every lease has ended, by the old and by the new time, that was granted before the last reading.
    if (sample.receivedAt - this.serverClock.takenAt > longestQuarantineMs) this.serverClock.forget();
    const stepMs = this.serverClock.take(sample);
    if (stepMs <= 0) return false;
    this.setForwardUs = Math.max(this.setForwardUs, Math.ceil(stepMs * 1000));
    return true;
  }
}
