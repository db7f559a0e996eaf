/**
 * The engine's only source of time: monotonic, in milliseconds with fractions. A step of the wall clock has no
 * effect. Tests use a manual clock.
 */
export interface Clock {
  now(): number;
  /** Calls `run` once after `delayMs`; a delay below 0 counts as 0. */
  after(delayMs: number, run: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

/** A longer timeout overflows in Node's setTimeout, and fires immediately. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

function startTimeout(delayMs: number, run: () => void): NodeJS.Timeout {
  return setTimeout(run, Math.min(Math.max(delayMs, 0), LONGEST_TIMEOUT_MS));
}

const timerOf = (timeout: NodeJS.Timeout): Timer => ({ cancel: () => clearTimeout(timeout) });

/**
 * A waiting timer keeps the process alive, because a pause before the next try may be the only work of the process.
 */
export const systemClock: Clock = {
  now: () => performance.now(),
  after: (delayMs, run) => timerOf(startTimeout(delayMs, run)),
};

/** As `systemClock`, but the process may end while a timer waits. For observers only. */
export const observerClock: Clock = {
  now: systemClock.now,
  after: (delayMs, run) => timerOf(startTimeout(delayMs, run).unref()),
};
