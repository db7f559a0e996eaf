import { type Metric, Registry } from 'prom-client';
import { systemClock } from '../../base/clock';
import {
  type DistributionSample,
  type Labels,
  type MetricDefinition,
  type MetricText,
  MS,
} from '../../base/meters';
import { CommandMeters } from '../../redis/topology/open';
import type { AdminPages } from '../admin';
import { callMetrics } from './call-metrics';
import { serverMetrics } from './server-metrics';
import { EventLoopMeter, type MetricSources, QuarantineMeter } from './sources';

/** The metrics of a product, read from what the product has opened. */
interface Measured {
  readonly metrics?: readonly MetricDefinition<never>[];
}

/** All metrics, in the order of docs/operations/metrics.md. */
export function metricsOf(products: readonly Measured[]): readonly MetricText[] {
  return [...callMetrics, ...products.flatMap(({ metrics = [] }) => metrics), ...serverMetrics];
}

interface Value {
  readonly metricName?: string;
  readonly labels: Labels;
  /** Further labels. prom-client formats one such object once for all values that have it. */
  readonly sharedLabels?: Labels;
  readonly value: number;
}

const NO_LABELS: Labels = {};

/**
 * The metrics of a server in the text format of Prometheus. The only file that uses prom-client. The server counts with
 * plain numbers, and this class reads them when Prometheus asks, so metrics cost nothing between two scrapes.
 */
export class Metrics {
  private readonly registry = new Registry();

  /** @param openedBy undefined: the product is not open yet, so its metrics have no values */
  constructor(
    sources: MetricSources,
    products: readonly Measured[],
    openedBy: (product: Measured) => object | undefined,
  ) {
    this.register(callMetrics, () => sources);
    for (const product of products)
      this.register(product.metrics ?? [], () => openedBy(product) as never | undefined);
    this.register(serverMetrics, () => sources);
  }

  private register<Source>(
    metrics: readonly MetricDefinition<Source>[],
    source: () => Source | undefined,
  ): void {
    for (const metric of metrics) {
      const { name, help, type } = metric;
      const get = () => Promise.resolve({ name, help, type, values: valuesOf(metric, source()) });
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

function valuesOf<Source>(metric: MetricDefinition<Source>, source: Source | undefined): Value[] {
  if (source === undefined) return [];
  if (metric.type === 'histogram') {
    return [...metric.read(source)].flatMap((sample) => histogramValues(metric.name, sample));
  }
  return [...metric.read(source)].map(({ labels = {}, value }) => ({ labels, value }));
}

function histogramValues(
  name: string,
  { labels: sharedLabels = NO_LABELS, distribution }: DistributionSample,
): Value[] {
  const { bounds, counts, sum } = distribution;
  const limits = bucketLabels(bounds);
  const metricName = `${name}_bucket`;
  let count = 0;
  const buckets = counts.map((value, index) => {
    count += value;
    return { metricName, labels: limits[index] ?? NO_LABELS, sharedLabels, value: count };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels: NO_LABELS, sharedLabels, value: sum * MS },
    { metricName: `${name}_count`, labels: NO_LABELS, sharedLabels, value: count },
  ];
}

/** By bounds (ms). All distributions of a metric have the same array. */
const knownLimits = new WeakMap<readonly number[], readonly Labels[]>();

/** The label `le` of each bucket (seconds), made once for each array of bounds. */
function bucketLabels(bounds: readonly number[]): readonly Labels[] {
  const known = knownLimits.get(bounds);
  if (known !== undefined) return known;
  // Rounded, because 0.25 ms times 1/1000 has digits that no reader expects.
  const texts = bounds.map((bound) => String(Number((bound * MS).toPrecision(6))));
  const limits = [...texts, '+Inf'].map((le) => ({ le }));
  knownLimits.set(bounds, limits);
  return limits;
}

/** The sources of a server that has not started. */
export function unmeasured(version: string): Omit<MetricSources, 'isReady'> {
  return {
    version,
    calls: undefined,
    store: undefined,
    certificates: { all: () => [] },
    access: undefined,
    commands: new CommandMeters(),
    quarantine: new QuarantineMeter(systemClock),
    eventLoop: new EventLoopMeter(),
  };
}

export function metricsPage(metrics: Metrics): AdminPages {
  return {
    '/metrics': async () => ({
      status: 200,
      contentType: metrics.contentType,
      body: await metrics.text(),
    }),
  };
}
