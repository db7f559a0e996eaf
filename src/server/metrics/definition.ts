import type { Distribution } from '../../base/distribution';
import type { MetricSources } from './sources';

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

interface MetricText {
  readonly name: string;
  /** One sentence for `# HELP`. */
  readonly help: string;
  readonly unit: 'count' | 'seconds' | 'bytes' | '0 or 1';
  /** The labels, each with its values. */
  readonly labels: Labels;
  /** What a rising value means, for docs/operations/metrics.md. */
  readonly rising: string;
}

interface NumberMetric extends MetricText {
  readonly type: 'counter' | 'gauge';
  readonly read: (sources: MetricSources) => Iterable<NumberSample>;
}

interface HistogramMetric extends MetricText {
  readonly type: 'histogram';
  readonly read: (sources: MetricSources) => Iterable<DistributionSample>;
}

/**
 * A metric, and how its values are read when Prometheus asks. The labels of a metric never have names of locks, holders or
 * identities: such values have no bound, and are not for everybody who may read metrics.
 */
export type MetricDefinition = NumberMetric | HistogramMetric;

/** Converts milliseconds to seconds. */
export const MS = 1 / 1000;
