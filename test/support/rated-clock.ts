import type { Clock, Timer } from '../../src/base/clock';
import type { ManualClock } from './manual-clock';

/** A timer never runs early by an error of the floating point. */
const ROUNDING_MS = 1e-6;

/** A clock that runs faster or slower than the world's clock, and shows another time. */
export class RatedClock implements Clock {
  constructor(
    private readonly world: ManualClock,
    /** The time that this clock counts while the world counts one. */
    readonly rate: number,
    private readonly startedAt: number,
  ) {}

  now(): number {
    return this.startedAt + this.world.now() * this.rate;
  }

  after(delayMs: number, run: () => void): Timer {
    return this.world.after(Math.max(delayMs, 0) / this.rate + ROUNDING_MS, run);
  }
}
