import { trace, type Tracer } from '@opentelemetry/api';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import { readOpenTelemetry } from '../../src/server/config/variables';
import { Spans, startTracing } from '../../src/server/tracing';
import { RecordedSpans } from '../support/recorded-spans';

describe('start tracing', () => {
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
});

describe('spans', () => {
  const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
  const PARENT = '00f067aa0ba902b7';
  const traceparent = `00-${TRACE}-${PARENT}-01`;
  const ended = {
    service: 'holdfast.v1.LockService',
    method: 'GetLock',
    code: 0,
    reason: undefined,
    traceparent: undefined,
  };

  test('the span of a call has the times of the call, its method and its status', () => {
    const recorded = new RecordedSpans();
    const endedAt = performance.now();
    recorded.spans.ended({ ...ended, startedAt: endedAt - 250, endedAt });
    const [span] = recorded.all;
    expect(span).toMatchObject({
      name: 'holdfast.v1.LockService/GetLock',
      attributes: {
        'rpc.system': 'grpc',
        'rpc.service': 'holdfast.v1.LockService',
        'rpc.method': 'GetLock',
        'rpc.grpc.status_code': 0,
      },
      isError: false,
      parent: '',
    });
    expect(span?.durationMs).toBeCloseTo(250, 0);
  });

  test('the traceparent of the caller is the parent of a span', () => {
    const recorded = new RecordedSpans();
    recorded.spans.ended({ ...ended, traceparent, startedAt: 1, endedAt: 2 });
    recorded.spans.released({ traceparent }, 'lock');
    expect(recorded.all).toMatchObject([
      { traceId: TRACE, parent: PARENT },
      { traceId: TRACE, parent: PARENT },
    ]);
  });

  test('a caller that does not sample its trace gets no recorded span', () => {
    const recorded = new RecordedSpans();
    recorded.spans.released({ traceparent: `00-${TRACE}-${PARENT}-00` }, 'lock');
    expect(recorded.all).toEqual([]);
  });

  test.each([
    [10, 'CONTENDED', false],
    [14, 'STORE_UNAVAILABLE', true],
    [4, undefined, true],
  ])('a call with status %d and reason %s is an error of the server: %s', (code, reason, isError) => {
    const recorded = new RecordedSpans();
    recorded.spans.ended({ ...ended, code, reason, startedAt: 1, endedAt: 2 });
    const [span] = recorded.all;
    expect(span?.isError).toBe(isError);
    expect(span?.attributes['holdfast.reason']).toBe(reason);
  });

  test('a grant has the time since the arrival of its request, and a loss has its cause and no length', () => {
    const recorded = new RecordedSpans();
    recorded.spans.granted({}, 'semaphore', performance.now() - 3000);
    recorded.spans.lost({}, 'semaphore', 'revoked');
    const [grant, loss] = recorded.all;
    expect(grant).toMatchObject({ name: 'lease grant', attributes: { 'holdfast.service': 'semaphore' } });
    expect(grant?.durationMs).toBeGreaterThanOrEqual(3000);
    expect(loss).toMatchObject({
      name: 'lease loss',
      attributes: { 'holdfast.service': 'semaphore', 'holdfast.cause': 'revoked' },
      isError: true,
      durationMs: 0,
    });
  });

  test('an error of the SDK reaches no caller, is reported once, and ends the spans', () => {
    let count = 0;
    const tracer = {
      startSpan: () => {
        count += 1;
        throw new Error('broken');
      },
    } as unknown as Tracer;
    const errors: unknown[] = [];
    const spans = new Spans(
      tracer,
      () => 0,
      (error) => errors.push(error),
    );
    spans.released({}, 'lock');
    spans.released({}, 'lock');
    expect([errors, count]).toEqual([[new Error('broken')], 1]);
  });
});
