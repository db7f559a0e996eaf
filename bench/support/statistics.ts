/** The values of several rounds: their median, the first and third quartile, and their number. */
export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly rounds: number;
}

/** A spread with the value of every round, in order. */
export interface MeasuredSpread extends Spread {
  readonly values: readonly number[];
}

export function spreadOf(values: readonly number[]): MeasuredSpread {
  return {
    median: quantile(values, 0.5),
    low: quantile(values, 0.25),
    high: quantile(values, 0.75),
    rounds: values.length,
    values,
  };
}

/** The quantile at `share` (0 to 1). If the quantile lies between two values, interpolates linearly between them. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)];
  const above = sorted[Math.ceil(place)];
  if (below === undefined || above === undefined) throw new Error('a quantile needs at least one value');
  return below + (above - below) * (place - Math.floor(place));
}

/** Times of calls (ms). NaN if there were no calls. */
export interface Times {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export function timesOf(times: readonly number[]): Times {
  const [p50 = NaN, p99 = NaN, max = NaN] =
    times.length === 0 ? [] : [0.5, 0.99, 1].map((share) => quantile(times, share));
  return { p50, p99, max };
}

export function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** A grant of one lock, on the machine's monotonic clock (ms). The release is the time just before its call is sent. */
export interface Grant {
  readonly grantedAt: number;
  readonly releasedAt: number;
}

/** The times from each release to the next grant of the same lock (ms). */
export function handOverTimes(grants: readonly Grant[]): number[] {
  const inTurn = [...grants].sort((a, b) => a.grantedAt - b.grantedAt);
  return inTurn.slice(1).map(({ grantedAt }, index) => grantedAt - (inTurn[index]?.releasedAt ?? NaN));
}
