import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import { Spans } from '../../src/server/tracing';

/** A span, with the fields that tests compare. */
export interface RecordedSpan {
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  /** Empty: a root span. */
  readonly parent: string;
  readonly traceId: string;
  readonly durationMs: number;
}

/** Spans that stay in memory. */
export class RecordedSpans {
  readonly spans: Spans;
  /** The errors of the SDK. */
  readonly errors: unknown[] = [];
  private readonly exporter = new InMemorySpanExporter();

  constructor() {
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(this.exporter)] });
    const onBroken = (error: unknown): void => void this.errors.push(error);
    this.spans = new Spans(provider.getTracer('test'), () => performance.now(), onBroken);
  }

  /** The spans since the last call of `clear`, in the order of their ends. */
  get all(): RecordedSpan[] {
    return this.exporter.getFinishedSpans().map(shown);
  }

  named(name: string): RecordedSpan[] {
    return this.all.filter((span) => span.name === name);
  }

  clear(): void {
    this.exporter.reset();
  }
}

function shown(span: ReadableSpan): RecordedSpan {
  const { name, attributes, status, parentSpanContext, duration } = span;
  return {
    name,
    attributes: { ...attributes },
    isError: status.code === 2,
    parent: parentSpanContext?.spanId ?? '',
    traceId: span.spanContext().traceId,
    durationMs: duration[0] * 1000 + duration[1] / 1e6,
  };
}
