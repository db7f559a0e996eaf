import {
  type Attributes,
  type Context,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import { systemClock } from '../base/clock';
import type { Log } from '../base/log';
import type { CountedLoss, Service } from '../leases/lease';
import type { LeaseObserver, ObservedCall } from '../leases/lease-meters';
import type { CallSpans, EndedCall } from '../rpc/entry/call-meters';

interface SpanFacts {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly isError: boolean;
  readonly traceparent: string | undefined;
  /** Monotonic times (ms). */
  readonly startedAt: number;
  readonly endedAt: number;
}

/** The statuses that are faults of the server, by the semantic conventions of OpenTelemetry for RPC servers. */
const FAULTS: ReadonlySet<number> = new Set([2, 4, 12, 13, 14, 15]);

/**
 * The spans of a server: one for each unary call, and one for each grant, release and loss of a lease of a stream or a
 * session. A span is made at its end, so a stream that lives for days has no span of its own length. No span has a name of a
 * lock, a holder or an identity.
 *
 * Spans must not harm calls: after the first error of the SDK there are no more spans, and the log says so.
 */
export class Spans implements CallSpans, LeaseObserver {
  private isBroken = false;

  constructor(
    private readonly tracer: Tracer,
    private readonly now: () => number,
    private readonly onBroken: (error: unknown) => void,
  ) {}

  ended({ service, method, code, reason, traceparent, startedAt, endedAt }: EndedCall): void {
    this.add({
      name: `${service}/${method}`,
      kind: SpanKind.SERVER,
      attributes: {
        'rpc.system': 'grpc',
        'rpc.service': service,
        'rpc.method': method,
        'rpc.grpc.status_code': code,
        ...(reason !== undefined && { 'holdfast.reason': reason }),
      },
      isError: FAULTS.has(code),
      traceparent,
      startedAt,
      endedAt,
    });
  }

  granted(call: ObservedCall, service: Service, receivedAt: number): void {
    this.addEvent(call, 'grant', { 'holdfast.service': service }, receivedAt);
  }

  released(call: ObservedCall, service: Service): void {
    this.addEvent(call, 'release', { 'holdfast.service': service });
  }

  lost(call: ObservedCall, service: Service, cause: CountedLoss): void {
    this.addEvent(call, 'loss', { 'holdfast.service': service, 'holdfast.cause': cause });
  }

  private addEvent(
    { traceparent }: ObservedCall,
    event: 'grant' | 'release' | 'loss',
    attributes: Attributes,
    startedAt?: number,
  ): void {
    const endedAt = this.now();
    const isError = event === 'loss';
    const kind = SpanKind.INTERNAL;
    const name = `lease ${event}`;
    this.add({ name, kind, attributes, isError, traceparent, startedAt: startedAt ?? endedAt, endedAt });
  }

  private add({ name, kind, attributes, isError, traceparent, startedAt, endedAt }: SpanFacts): void {
    if (this.isBroken) return;
    try {
      const options = { kind, attributes, startTime: startedAt };
      const span = this.tracer.startSpan(name, options, parentOf(traceparent));
      if (isError) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(endedAt);
    } catch (error) {
      this.isBroken = true;
      this.onBroken(error);
    }
  }
}

/** @param traceparent the transport has checked its form: version, trace id, span id and flags in lower-case hex */
function parentOf(traceparent: string | undefined): Context {
  if (traceparent === undefined) return ROOT_CONTEXT;
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-');
  const parent = { traceId, spanId, traceFlags: parseInt(flags, 16), isRemote: true };
  return trace.setSpanContext(ROOT_CONTEXT, parent);
}

/** How long the last spans may take at the end of the process (ms). */
const LAST_SPANS_MS = 2000;
/** The package that reads the variables OTEL_*. Not a dependency: docs/operations/tracing.md says how to install it. */
const SDK_PACKAGE = '@opentelemetry/sdk-node';

export interface TracingSettings {
  /** The name of the service in all spans. Undefined: the variables OTEL_* have the name. */
  readonly serviceName: string | undefined;
}

export interface Tracing {
  readonly spans: Spans;
  /** Sends the last spans. Resolves in any case, at the latest after two seconds. */
  close(): Promise<void>;
}

interface Sdk {
  start(): void;
  shutdown(): Promise<void>;
}

interface SdkModule {
  readonly NodeSDK: new (options: object) => Sdk;
}

/** Loads the SDK of OpenTelemetry. */
export type LoadSdk = () => Promise<unknown>;

const loadSdk: LoadSdk = () => import(SDK_PACKAGE);

/**
 * Starts the SDK of OpenTelemetry, unless `node --require` has started one before. Never rejects: a server without spans
 * serves its clients all the same, and the log says why there are no spans.
 * @returns undefined: there are no spans
 */
export async function startTracing(
  settings: TracingSettings,
  log: Log,
  load: LoadSdk = loadSdk,
): Promise<Tracing | undefined> {
  let sdk: Sdk | undefined;
  try {
    if (!hasProvider()) sdk = startSdk((await load()) as SdkModule, settings);
  } catch (err) {
    const isMissing = ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'].includes(
      String((err as NodeJS.ErrnoException).code),
    );
    if (isMissing) log.warn({}, MISSING);
    else log.warn({ err }, 'the SDK of OpenTelemetry could not be started: there are no spans');
    return undefined;
  }
  if (!hasProvider()) return undefined; // The variables ask for no spans.
  const onBroken = (err: unknown): void =>
    log.warn({ err }, 'the SDK of OpenTelemetry has failed: there are no more spans');
  const spans = new Spans(trace.getTracer('holdfast'), () => systemClock.now(), onBroken);
  return { spans, close: () => shutDown(sdk, log) };
}

const MISSING =
  `a variable OTEL_* asks for spans, but the package ${SDK_PACKAGE} is not installed: there are no spans; ` +
  'install it as docs/operations/tracing.md says, or set OTEL_SDK_DISABLED=true';

/** Spans only: logs and metrics of the server go other ways. */
function startSdk({ NodeSDK }: SdkModule, { serviceName }: TracingSettings): Sdk {
  const sdk = new NodeSDK({
    metricReaders: [],
    logRecordProcessors: [],
    instrumentations: [],
    ...(serviceName !== undefined && { serviceName }),
  });
  sdk.start();
  return sdk;
}

/** Whether an SDK is registered, by this process's copy of the API or another one. */
function hasProvider(): boolean {
  const provider = trace.getTracerProvider();
  if (!('getDelegate' in provider)) return true;
  return (provider as ProxyTracerProvider).getDelegate() !== new ProxyTracerProvider().getDelegate();
}

async function shutDown(sdk: Sdk | undefined, log: Log): Promise<void> {
  if (sdk === undefined) return;
  let timer: { cancel(): void } | undefined;
  const overdue = new Promise<never>((_, reject) => {
    timer = systemClock.after(LAST_SPANS_MS, () =>
      reject(new Error(`the last spans were not sent within ${LAST_SPANS_MS} ms`)),
    );
  });
  await Promise.race([sdk.shutdown(), overdue]).catch((err: unknown) =>
    log.warn({ err }, 'the last spans may be lost'),
  );
  timer?.cancel();
}
