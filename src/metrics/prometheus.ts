import { Registry, type Metric } from 'prom-client';
import { callMetrics } from './call-metrics';
import type { DistributionSample, Labels, MetricDefinition } from './definition';
import { leaseMetrics } from './lease-metrics';
import { serverMetrics } from './server-metrics';
import type { MetricSources } from './sources';

/** All metrics, in the order of docs/operations/metrics.md. */
export const metrics: readonly MetricDefinition[] = [...callMetrics, ...leaseMetrics, ...serverMetrics];

interface Value {
  readonly metricName?: string;
  readonly labels: Labels;
  readonly value: number;
}

/**
 * The metrics of a server in the text format of Prometheus. The only file that uses prom-client. The server counts with
 * plain numbers, and this class reads them when Prometheus asks, so metrics cost nothing between two scrapes.
 */
export class Metrics {
  private readonly registry = new Registry();

  constructor(sources: MetricSources) {
    for (const metric of metrics) {
      const { name, help, type } = metric;
      const get = () => Promise.resolve({ name, help, type, values: valuesOf(metric, sources) });
      // prom-client's own classes keep the numbers themselves, and their histograms cannot take counts.
      this.registry.registerMetric({ name, get } as unknown as Metric);
    }
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }
}

function valuesOf(metric: MetricDefinition, sources: MetricSources): Value[] {
  if (metric.type === 'histogram') {
    return [...metric.read(sources)].flatMap((sample) => histogramValues(metric.name, sample));
  }
  return [...metric.read(sources)].map(({ labels = {}, value }) => ({ labels, value }));
}

function histogramValues(name: string, { labels = {}, distribution, scale }: DistributionSample): Value[] {
  const { bounds, counts, sum } = distribution;
  let count = 0;
  const buckets = counts.map((value, index) => {
    count += value;
    const bound = bounds[index];
    // Rounded, because 0.25 ms times 1/1000 has digits that no reader expects.
    const le = bound === undefined ? '+Inf' : String(Number((bound * scale).toPrecision(6)));
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: count };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum * scale },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
