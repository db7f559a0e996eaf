import { trace } from '@opentelemetry/api';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import { readOpenTelemetry } from '../../src/server/config/variables';
import { startTracing } from '../../src/server/tracing';

const warnings: { fields: object; message: string }[] = [];
const ignore = (): void => undefined;
const log = {
  debug: ignore,
  info: ignore,
  error: ignore,
  warn: (fields: object, message: string) => void warnings.push({ fields, message }),
};
const settings = { serviceName: 'holdfast' };

afterEach(() => {
  trace.disable();
  warnings.splice(0);
});

/** An SDK that registers a provider, as `NodeSDK` does. */
function fakeSdk(shutdown: () => Promise<void> = () => Promise.resolve()) {
  const options: object[] = [];
  class NodeSDK {
    constructor(given: object) {
      options.push(given);
    }
    start(): void {
      trace.setGlobalTracerProvider(new BasicTracerProvider());
    }
    shutdown(): Promise<void> {
      return shutdown();
    }
  }
  return { options, load: () => Promise.resolve({ NodeSDK }) };
}

test.each([
  [{}, undefined],
  [{ OTEL_SERVICE_NAME: '' }, undefined],
  [{ OTEL_SERVICE_NAME: 'x', OTEL_SDK_DISABLED: 'true' }, undefined],
  [{ HOLDFAST_LISTEN: ':1' }, undefined],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x' }, { serviceName: 'holdfast' }],
  [{ OTEL_SERVICE_NAME: 'locks' }, { serviceName: undefined }],
  [{ OTEL_RESOURCE_ATTRIBUTES: 'a=b,service.name=locks' }, { serviceName: undefined }],
  [{ OTEL_RESOURCE_ATTRIBUTES: 'service.names=x' }, { serviceName: 'holdfast' }],
])('the variables %j ask for the SDK with %j', (env, expected) => {
  expect(readOpenTelemetry(env)).toEqual(expected);
});

test('a server without the package warns how to install it, and has no spans', async () => {
  const missing = Object.assign(new Error('not found'), { code: 'ERR_MODULE_NOT_FOUND' });
  expect(await startTracing(settings, log, () => Promise.reject(missing))).toBeUndefined();
  expect(warnings).toEqual([
    { fields: {}, message: expect.stringContaining('@opentelemetry/sdk-node is not installed') as string },
  ]);
});

test('the package is no dependency, so the default loader warns too', async () => {
  expect(await startTracing(settings, log)).toBeUndefined();
  expect(warnings).toHaveLength(1);
});

test('a server with an SDK that fails at its start warns with the error, and has no spans', async () => {
  const error = new Error('wrong exporter');
  expect(await startTracing(settings, log, () => Promise.reject(error))).toBeUndefined();
  expect(warnings).toEqual([
    { fields: { err: error }, message: expect.stringContaining('no spans') as string },
  ]);
});

test('the SDK gets the name of the service, and makes no metrics and logs', async () => {
  const { options, load } = fakeSdk();
  const tracing = await startTracing(settings, log, load);
  expect(tracing?.spans).toBeDefined();
  expect(options).toEqual([
    { serviceName: 'holdfast', metricReaders: [], logRecordProcessors: [], instrumentations: [] },
  ]);
  await tracing?.close();
  expect(warnings).toEqual([]);
});

test('an SDK that was started before the server is used, and no second one is loaded', async () => {
  trace.setGlobalTracerProvider(new BasicTracerProvider());
  const load = () => Promise.reject(new Error('must not be loaded'));
  expect((await startTracing(settings, log, load))?.spans).toBeDefined();
  expect(warnings).toEqual([]);
});

test('an SDK without spans, by its variables, leaves the server without spans and without a warning', async () => {
  class NodeSDK {
    start(): void {}
  }
  expect(await startTracing(settings, log, () => Promise.resolve({ NodeSDK }))).toBeUndefined();
  expect(warnings).toEqual([]);
});

test.each([
  ['fails', () => Promise.reject(new Error('no collector'))],
  ['never ends', () => new Promise<void>(() => undefined)],
])('the end of an SDK that %s ends all the same, with a warning', async (_, shutdown) => {
  const tracing = await startTracing(settings, log, fakeSdk(shutdown).load);
  await tracing?.close();
  expect(warnings).toMatchObject([{ message: 'the last spans may be lost' }]);
});
