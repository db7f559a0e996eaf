/**
 * The engine's only source of time: monotonic, in milliseconds with fractions. It has no relation to the
 * time of day, so a stepped wall clock changes nothing. Tests drive a manual one.
 */
export interface Clock {
  now(): number;
  /** Calls `run` once, `delayMs` from now (at once if that is not positive). */
  after(delayMs: number, run: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

/** Node's setTimeout overflows past 2^31 - 1 ms and would fire at once. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  after(delayMs, run) {
    const timeout = setTimeout(run, Math.min(Math.max(delayMs, 0), LONGEST_TIMEOUT_MS));
    return { cancel: () => clearTimeout(timeout) };
  },
};
