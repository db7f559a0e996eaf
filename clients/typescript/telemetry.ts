import { textOf } from './errors';
import { invalidOption, textOfValue } from './time-span';

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

export interface Telemetry {
  /** Default: no messages. */
  readonly logger?: Logger | undefined;
  /** A tracer of OpenTelemetry. Default: no spans. */
  readonly tracer?: Tracer | undefined;
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

/** Throws an InvalidRequestError for a value without the functions that the client calls. */
export function checkTelemetry({ logger, tracer }: Telemetry): void {
  checkFunctions('logger', logger, ['debug', 'info', 'warn', 'error']);
  checkFunctions('tracer', tracer, ['startSpan']);
}

function checkFunctions<T>(option: string, given: T | undefined, names: readonly (keyof T & string)[]): void {
  const functions = given as Partial<T> | null | undefined;
  if (functions === undefined || names.every((name) => typeof functions?.[name] === 'function')) return;
  throw invalidOption(option, `an object with ${names.join(', ')}, not ${textOfValue(given)}`);
}

/** SpanStatusCode.ERROR of OpenTelemetry. */
const SPAN_ERROR = 2;

/** Runs `work` in a span. Without a tracer there is no span. A tracer that throws changes nothing else. */
export async function inSpan<T>(
  tracer: Tracer | undefined,
  name: string,
  attributes: Record<string, string | number | boolean>,
  work: () => Promise<T>,
): Promise<T> {
  if (tracer === undefined) return work();
  const span = harmless(() => tracer.startSpan(name, { attributes }));
  try {
    return await work();
  } catch (error) {
    harmless(() => span?.setStatus({ code: SPAN_ERROR, message: textOf(error) }));
    throw error;
  } finally {
    harmless(() => span?.end());
  }
}

/** Calls the tracer. After an error of the tracer the process gets a warning, and the work goes on. */
function harmless<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    process.emitWarning(`the tracer of the Holdfast client fails: ${textOf(error)}`);
    return undefined;
  }
}
