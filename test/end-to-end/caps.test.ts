import { randomUUID } from 'node:crypto';
import { closeAll, eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { InProcessServer } from './in-process-server';
import { patientRefusal, refusal } from '../support/clients/calls';

/** `defaultLimits.maxWaitingCallsPerConnection`. */
const MAX_WAITING_CALLS = 500;

let redis: RedisProcess;
const servers: InProcessServer[] = [];

beforeAll(async () => {
  redis = await RedisProcess.start();
});

afterAll(() => closeAll(...servers.map((server) => () => server.close()), () => redis?.close()));

async function started(env: Record<string, string>): Promise<InProcessServer> {
  const server = await InProcessServer.start(redis.url, env);
  servers.push(server);
  return server;
}

test.concurrent(
  'a connection may have 500 waiting unary calls, and streams and other connections do not count',
  async () => {
    const server = await started({});
    const crowded = server.client();
    const name = 'crowded';
    const held = crowded.hold({ name, ttlMs: 20_000 });
    const { lease } = await held.next('granted');
    const waits = Array.from({ length: MAX_WAITING_CALLS }, () =>
      patientRefusal(() => crowded.acquire({ name })),
    );
    const watcher = server.client();
    const isCrowded = async (): Promise<boolean> =>
      (await watcher.get(name)).waiterCount === MAX_WAITING_CALLS;
    await eventually('500 waiters', isCrowded, { timeoutMs: 15_000 });

    const oneMore = await refusal(crowded.acquire({ name }));
    expect(oneMore).toMatchObject({ code: 'RESOURCE_EXHAUSTED', reason: 'QUOTA_EXCEEDED' });
    expect(oneMore.retryAfterMs).toBeGreaterThan(0);
    // The server still serves calls without a wait, and streams.
    await crowded.acquire({ name: 'free beside the crowd' });
    const stream = crowded.hold({ name });
    expect(await stream.next('queued')).toMatchObject({ position: MAX_WAITING_CALLS + 1 });
    const waiting = refusal(watcher.acquire({ name, waitMs: 300 }));
    expect((await waiting).reason).toBe('CONTENDED');

    await server.drain();
    for (const ending of await Promise.all(waits)) expect(ending.reason).toBe('DRAINING');
    // The drain renewed the lease once more, so a stream on another server can attach to the lease.
    const next = await started({});
    const again = next.client().attach(lease?.leaseId ?? '');
    expect((await again.next('granted')).lease?.fencingToken).toBe(lease?.fencingToken);
    again.cancel();
  },
);

test.concurrent(
  'a full queue refuses a new waiter with QUEUE_FULL, and accepts a repeated request_id',
  async () => {
    const server = await started({ HOLDFAST_MAX_WAITERS: '3' });
    const client = server.client();
    const name = 'full';
    const holder = await client.acquire({ name, ttlMs: 20_000 });
    const requestIds = [randomUUID(), randomUUID(), randomUUID()];
    const streams = requestIds.map((requestId) => client.hold({ name, requestId }));
    for (const stream of streams) await stream.next('queued');

    const unary = await refusal(client.acquire({ name, waitMs: 1000 }));
    expect(unary).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      reason: 'QUEUE_FULL',
      metadata: { waiter_count: '3' },
    });
    expect(unary.retryAfterMs).toBeGreaterThan(0);
    const stream = client.hold({ name });
    expect(await stream.ending).toMatchObject({ code: 'RESOURCE_EXHAUSTED', reason: 'QUEUE_FULL' });
    expect(await refusal(client.acquire({ name, waitMs: 0 }))).toMatchObject({ reason: 'CONTENDED' });

    const back = client.hold({ name, requestId: requestIds[1] ?? '' });
    expect(await back.next('queued')).toMatchObject({ position: 2 });
    await client.release(holder.leaseId);
    await streams[0]?.until('granted');
    const late = client.hold({ name });
    expect(await late.next('queued')).toMatchObject({ position: 3 });
    await server.close();
  },
);
