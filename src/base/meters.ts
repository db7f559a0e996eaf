/** Counts values by size, as plain numbers: the cost of one value is a few comparisons. */
export class Distribution {
  /** `counts[i]`: the values that are at most `bounds[i]` and above the bound before. The last: above all bounds. */
  readonly counts: number[];
  sum = 0;

  /** @param bounds Ascending. */
  constructor(readonly bounds: readonly number[]) {
    this.counts = Array<number>(bounds.length + 1).fill(0);
  }

  add(value: number): void {
    const { bounds, counts } = this;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] as number)) index += 1;
    counts[index] = (counts[index] as number) + 1;
    this.sum += value;
  }
}

export type Labels = Readonly<Record<string, string>>;

export interface NumberSample {
  readonly labels?: Labels;
  readonly value: number;
}

export interface DistributionSample {
  readonly labels?: Labels;
  /** Of milliseconds. The metric has seconds. */
  readonly distribution: Distribution;
}

export interface MetricText {
  readonly name: string;
  /** One sentence for `# HELP`. */
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly unit: 'count' | 'seconds' | 'bytes' | '0 or 1';
  /** The labels, each with its values. */
  readonly labels: Labels;
  /** What a rising value means, for docs/operations/metrics.md. */
  readonly rising: string;
}

interface NumberMetric<Source> extends MetricText {
  readonly type: 'counter' | 'gauge';
  read(source: Source): Iterable<NumberSample>;
}

interface HistogramMetric<Source> extends MetricText {
  readonly type: 'histogram';
  read(source: Source): Iterable<DistributionSample>;
}

/**
 * A metric, and how its values are read when Prometheus asks. The labels of a metric never have names of locks, holders or
 * identities: such values have no bound, and are not for everybody who may read metrics.
 */
export type MetricDefinition<Source> = NumberMetric<Source> | HistogramMetric<Source>;

/** Converts milliseconds to seconds. */
export const MS = 1 / 1000;
