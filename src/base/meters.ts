import type { IncomingHttpHeaders } from 'node:http2';
import type { Metadata } from '@grpc/grpc-js';
import { escapeText } from './text';

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

/** The part of a logger that the transport needs. A pino logger has this shape. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What connects a call with the logs and traces of its caller. */
export interface CallTrace {
  /** The W3C trace context of the caller. */
  readonly traceparent?: string;
  /** The header `x-request-id`, escaped. Not the `request_id` of a lease, which is a secret. */
  readonly callId?: string;
}

/** The form of the versions of the W3C recommendation; later versions may add more fields. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
/** Longer ids are cut. */
const MAX_ID_CHARS = 128;

/** Undefined: the call has no valid trace context. */
export function traceparentOf(metadata: Metadata): string | undefined {
  return validTraceparent(metadata.get('traceparent')[0]);
}

/** Reads the headers only when a line is logged. A header that is not valid is left out. */
export function traceOf(metadata: Metadata): CallTrace {
  return traceOfValues(metadata.get('traceparent')[0], metadata.get('x-request-id')[0]);
}

/** As `traceOf`, for a call that has not begun. */
export function traceOfHeaders(headers: IncomingHttpHeaders): CallTrace {
  return traceOfValues(headers['traceparent'], headers['x-request-id']);
}

function traceOfValues(traceparent: unknown, id: unknown): CallTrace {
  const valid = validTraceparent(traceparent);
  return {
    ...(valid !== undefined && { traceparent: valid }),
    ...(typeof id === 'string' && id !== '' && { callId: escapeText(id.slice(0, MAX_ID_CHARS)) }),
  };
}

function validTraceparent(value: unknown): string | undefined {
  return typeof value === 'string' && TRACEPARENT.test(value) ? value : undefined;
}
