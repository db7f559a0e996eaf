/** The values of several rounds: their median, and the first and third quartile. */
export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  /** Every round, in order. */
  readonly rounds: readonly number[];
}

export function spreadOf(rounds: readonly number[]): Spread {
  return {
    median: quantile(rounds, 0.5),
    low: quantile(rounds, 0.25),
    high: quantile(rounds, 0.75),
    rounds,
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

/** Divides each round's value by the yardstick of the same round. */
export function ratios(values: readonly number[], yardstick: readonly number[]): number[] {
  return values.map((value, round) => {
    const unit = yardstick[round];
    if (unit === undefined) throw new Error('a round without its yardstick');
    return value / unit;
  });
}
