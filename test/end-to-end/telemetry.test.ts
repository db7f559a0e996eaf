import { randomUUID } from 'node:crypto';
import { credentials, Metadata } from '@grpc/grpc-js';
import { connect, type Holdfast } from '../../clients/typescript';
import { AcquireLockRequest, LockServiceClient } from '../../generated/typescript/holdfast/v1/lock_service';
import {
  ListCallersRequest,
  ServerServiceService,
} from '../../generated/typescript/holdfast/v1/server_service';
import { metricsOf } from '../../src/server/metrics/prometheus';
import { products } from '../../src/server/products';
import { lock, release, SessionStream } from '../support/clients/session-stream';
import { closeAll, eventually, eventuallyPasses } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { RecordedSpans } from '../support/recorded-spans';
import { InProcessServer } from './in-process-server';

describe('admin port', () => {
  /** The admin port of the whole server, with a real Redis. */

  let redis: RedisProcess;
  beforeAll(async () => {
    redis = await RedisProcess.start();
  });
  afterAll(() => redis.close());

  const start = () => InProcessServer.start(redis.url, { HOLDFAST_ADMIN_LISTEN: '127.0.0.1:0' });

  async function statusOf(server: InProcessServer, path: string): Promise<readonly [number, string]> {
    const answer = await fetch(`http://${server.adminAddress}${path}`);
    return [answer.status, await answer.text()];
  }

  test('/readyz follows the store, and /livez does not', async () => {
    const server = await start();
    try {
      expect(await statusOf(server, '/readyz')).toEqual([200, '{"ready":true}\n']);
      await redis.stop();
      await eventuallyPasses('/readyz says that the store does not answer', async () => {
        expect(await statusOf(server, '/readyz')).toEqual([
          503,
          '{"ready":false,"reasons":["the store does not answer"]}\n',
        ]);
      });
      expect(await statusOf(server, '/livez')).toEqual([200, '{"live":true}\n']);
      await redis.cont();
      await eventuallyPasses('/readyz says that the server is ready', async () => {
        expect(await statusOf(server, '/readyz')).toEqual([200, '{"ready":true}\n']);
      });
    } finally {
      await redis.cont();
      await server.closeDespiteWarnings();
    }
  });

  test('the admin port closes with the server', async () => {
    const server = await start();
    await statusOf(server, '/livez');
    await server.close();
    await expect(statusOf(server, '/livez')).rejects.toThrow('fetch failed');
  });
});

describe('metrics', () => {
  /** The metrics of the whole server, with a real Redis. */

  let redis: RedisProcess;
  let server: InProcessServer;
  beforeAll(async () => {
    redis = await RedisProcess.start();
    server = await InProcessServer.start(redis.url, { HOLDFAST_ADMIN_LISTEN: '127.0.0.1:0' });
  });
  afterAll(async () => {
    await server.close();
    await redis.close();
  });

  async function scrape(): Promise<string> {
    const answer = await fetch(`http://${server.adminAddress}/metrics`);
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    return answer.text();
  }

  /** The value of a sample. Undefined: there is no such sample. */
  function valueOf(text: string, sample: string): number | undefined {
    const line = text.split('\n').find((one) => one.startsWith(`${sample} `));
    return line === undefined ? undefined : Number(line.slice(sample.length + 1));
  }

  test('shows every metric of the list, with its type and help', async () => {
    const text = await scrape();
    for (const { name, type, help } of metricsOf(products)) {
      expect(text).toContain(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`);
    }
  });

  test('counts a held lease, its wait, its hand-over and its release, and shows no names', async () => {
    const client = server.client();
    const name = 'metrics/secret-name';
    const first = client.hold({ name, holderId: 'secret-holder' });
    const { lease } = await first.next('granted');
    const second = client.hold({ name, holderId: 'secret-holder', waitMs: 60_000 });
    await second.next('queued');
    const waiting = await scrape();
    expect(valueOf(waiting, 'holdfast_leases_held{service="lock"}')).toBe(1);
    expect(valueOf(waiting, 'holdfast_waiters{service="lock"}')).toBe(1);
    await client.release(lease!.leaseId);
    const granted = await second.next('granted');
    await client.release(granted.lease!.leaseId);
    await eventuallyPasses('the metrics after the releases', async () => {
      const text = await scrape();
      expect(valueOf(text, 'holdfast_leases_held{service="lock"}')).toBe(0);
      expect(valueOf(text, 'holdfast_hand_overs_total{service="lock"}')).toBe(1);
      expect(valueOf(text, 'holdfast_grant_seconds_count{service="lock"}')).toBe(2);
      expect(valueOf(text, 'holdfast_hold_seconds_count{service="lock"}')).toBe(2);
      expect(text).not.toContain('secret');
    });
  });

  test('counts the commands that cannot be sent to a disconnected Redis, in a series that existed before', async () => {
    const client = server.client();
    const sample = `holdfast_redis_command_failures_total{node="127.0.0.1:${redis.port}",failure="not-written"}`;
    const before = valueOf(await scrape(), sample);
    expect(before).toBeGreaterThanOrEqual(0);
    await redis.kill();
    try {
      await eventuallyPasses('the count of failures', async () => {
        await expect(client.get('metrics/unreachable')).rejects.toThrow('UNAVAILABLE');
        expect(valueOf(await scrape(), sample)).toBeGreaterThan(before!);
      });
    } finally {
      await redis.restart();
      // The server has logged that the store did not answer.
      server.warnings.splice(0);
    }
  });
});

describe('tracing', () => {
  /** The spans of the whole server, with a real Redis. */

  const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
  const PARENT = '00f067aa0ba902b7';
  const NAME = 'tracing/secret-name';
  const HOLDER = 'secret-holder';

  let redis: RedisProcess;
  let server: InProcessServer;
  const recorded = new RecordedSpans();
  beforeAll(async () => {
    redis = await RedisProcess.start();
    server = await InProcessServer.start(redis.url, {}, recorded.spans);
  });
  beforeEach(() => recorded.clear());
  afterAll(async () => {
    await server?.close();
    await redis?.close();
  });

  function traced(): Metadata {
    const metadata = new Metadata();
    metadata.set('traceparent', `00-${TRACE}-${PARENT}-01`);
    return metadata;
  }

  const ofCaller = { traceId: TRACE, parent: PARENT };

  async function spanNamed(name: string) {
    return eventually(`a span ${name}`, () => recorded.named(name)[0]);
  }

  test('a failed unary call has a span with its reason, its caller as parent, and no name', async () => {
    const stub = new LockServiceClient(server.address, credentials.createInsecure());
    const held = await server.client().acquire({ name: NAME, holderId: HOLDER });
    recorded.clear();
    const request = {
      ...AcquireLockRequest.create({ name: NAME, holderId: HOLDER }),
      waitTimeout: { seconds: 0n, nanos: 0 },
    };
    await new Promise<void>((resolve) => stub.acquireLock(request, traced(), () => resolve()));
    expect(recorded.all).toEqual([
      {
        ...ofCaller,
        name: 'holdfast.v1.LockService/AcquireLock',
        attributes: {
          'rpc.system': 'grpc',
          'rpc.service': 'holdfast.v1.LockService',
          'rpc.method': 'AcquireLock',
          'rpc.grpc.status_code': 10,
          'holdfast.reason': 'CONTENDED',
        },
        isError: false,
        durationMs: expect.any(Number) as number,
      },
    ]);
    await server.client().release(held.leaseId);
    stub.close();
  });

  test('a hold stream has spans for its grant and its loss, and no span of its own', async () => {
    const client = server.client();
    const held = client.hold({ name: NAME, holderId: HOLDER });
    const { lease } = await held.next('granted');
    expect(await spanNamed('lease grant')).toMatchObject({
      attributes: { 'holdfast.service': 'lock' },
      parent: '',
    });
    await client.revoke({
      name: NAME,
      target: { $case: 'fencingToken', value: lease!.fencingToken },
    });
    expect(await spanNamed('lease loss')).toMatchObject({
      attributes: { 'holdfast.service': 'lock', 'holdfast.cause': 'revoked' },
      isError: true,
    });
    await held.ending;
    const names = recorded.all.map(({ name }) => name).sort();
    expect(names).toEqual(['holdfast.v1.LockService/RevokeLock', 'lease grant', 'lease loss']);
    expect(JSON.stringify(recorded.all)).not.toContain('secret');
  });

  test('the leases of a session have spans with the caller of the session as parent', async () => {
    const session = new SessionStream(server.address, { metadata: traced(), start: { holderId: HOLDER } });
    const number = session.run(lock(`${NAME}/${randomUUID()}`));
    await session.event(number, 'granted');
    session.run(release(number));
    await session.event(number, 'ended');
    session.close();
    expect(recorded.all).toMatchObject([
      { ...ofCaller, name: 'lease grant' },
      { ...ofCaller, name: 'lease release', isError: false, durationMs: 0 },
    ]);
  });
});

describe('callers', () => {
  /** The leases and waits in the list of callers, with a real Redis and no quotas. */

  let redis: RedisProcess;
  let server: InProcessServer;
  let hf: Holdfast;
  beforeAll(async () => {
    redis = await RedisProcess.start({ appendfsync: 'no' });
    server = await InProcessServer.start(redis.url);
    hf = await connect(server.address, { timeout: '30s' });
  });
  afterAll(() =>
    closeAll(
      () => hf?.close(),
      () => server?.closeDespiteWarnings(),
      () => redis?.close(),
    ),
  );

  /** The leases, waiters and streams of the only caller. */
  async function counts(): Promise<readonly number[]> {
    const { callers } = await hf.call(ServerServiceService.listCallers, ListCallersRequest.create());
    expect(callers.map(({ address }) => address)).toEqual(['127.0.0.1']);
    return callers.flatMap((caller) => [caller.leaseCount, caller.waiterCount, caller.streamCount]);
  }

  const becomes = (leases: number, waiters: number, streams: number) =>
    eventuallyPasses('the counts', async () => expect(await counts()).toEqual([leases, waiters, streams]));

  test('leases of single calls count until their release, or until the end of their ttl', async () => {
    const client = server.client();
    const first = await client.acquire({ name: 'a' });
    await client.acquire({ name: 'b', ttlMs: 1000 });
    expect((await counts())[0]).toBe(2);
    await client.renew(first.leaseId);
    expect((await counts())[0]).toBeGreaterThanOrEqual(1);
    await client.release(first.leaseId);
    // The client library has a session.
    await becomes(0, 0, 1);
  });

  test('a wait counts until it is granted, and a session counts once with all its leases', async () => {
    const client = server.client();
    const held = await client.acquire({ name: 'taken' });
    const stop = new AbortController();
    const waiting = hf.lock('taken', { ttl: '30s', wait: '60s' });
    const givenUp = hf.lock('taken', { wait: '60s', signal: stop.signal }).catch(() => undefined);
    await becomes(1, 2, 1);
    stop.abort();
    await givenUp;
    await becomes(1, 1, 1);
    await client.release(held.leaseId);
    const lease = await waiting;
    await becomes(1, 0, 1);
    await lease.release();
    await becomes(0, 0, 1);
  });
});
