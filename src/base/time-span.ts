/** Spans of time in error texts: "400 ms", "1.5 s", "21 s", "2 min". */

const UNITS = [
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
] as const;

/** The exact span, in the largest unit that gives a whole number. Seconds may have one decimal. */
export function timeSpan(ms: number): string {
  for (const [size, unit] of UNITS) {
    if (ms !== 0 && ms % size === 0) return `${ms / size} ${unit}`;
  }
  return Math.abs(ms) > 1000 && ms % 100 === 0 ? `${ms / 1000} s` : `${ms} ms`;
}

/** A measured span, rounded to a precision that fits its size. A negative span counts as 0. */
export function roundedTimeSpan(ms: number): string {
  const step = ms < 1000 ? 1 : ms < 10_000 ? 100 : ms < 600_000 ? 1000 : 60_000;
  return timeSpan(Math.max(0, Math.round(ms / step)) * step);
}
