/**
 * Takes the client's messages, for example `console`. No message has a `lease_id` or a token. After the first error of a
 * logger the process gets a warning, and the client goes on.
 */
export interface Logger {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** The part of a Span of `@opentelemetry/api` that the client uses. */
export interface Span {
  setAttribute(key: string, value: string | number | boolean): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  end(): void;
}

/** The part of a Tracer of `@opentelemetry/api` that the client uses: `trace.getTracer('my-service')`. */
export interface Tracer {
  startSpan(name: string, options?: { attributes?: Record<string, string | number | boolean> }): Span;
}

/** SpanStatusCode.ERROR of OpenTelemetry. */
const SPAN_ERROR = 2;

/** Runs `work` in a span. Without a tracer there is no span. */
export async function inSpan<T>(
  tracer: Tracer | undefined,
  name: string,
  attributes: Record<string, string | number | boolean>,
  work: () => Promise<T>,
): Promise<T> {
  if (tracer === undefined) return work();
  const span = tracer.startSpan(name, { attributes });
  try {
    return await work();
  } catch (error) {
    span.setStatus({ code: SPAN_ERROR, message: (error as Error).message });
    throw error;
  } finally {
    span.end();
  }
}
