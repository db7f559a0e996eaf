import { ProxyTracerProvider, trace } from '@opentelemetry/api';
import { systemClock } from '../base/clock';
import type { Log } from '../base/log';
import { Spans } from './spans';

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
