import { randomUUID } from 'node:crypto';
import { LockMode } from '../../../generated/typescript/holdfast/v1/lease';
import { InProcessServer } from '../../end-to-end/in-process-server';
import { ServerPair } from '../../end-to-end/server-pair';
import { patientRefusal, refusal } from '../../support/clients/calls';
import { ms, type SemaphoreClient } from '../../support/clients/lease-client';
import { closeAll, eventually } from '../../support/eventually';
import { RedisProcess } from '../../support/processes/redis-process';

describe('hold permits', () => {
  /** Locks and semaphores share the code of streams. hold-lock.test.ts has the cases that are not repeated here. */

  let pair: ServerPair;
  let client: SemaphoreClient;
  let elsewhere: SemaphoreClient;

  beforeAll(async () => {
    pair = await ServerPair.start();
    client = pair.first.semaphores();
    elsewhere = pair.second.semaphores();
  });

  afterAll(() => pair?.close());

  test.concurrent('a HoldPermits stream sends queued, granted, renewed and released', async () => {
    const name = 'life';
    await client.setLimit(name, 3);
    const holder = await client.acquire({ name, ttlMs: 20_000, permitCount: 2, holderId: 'alice' });
    const requestId = randomUUID();
    const stream = elsewhere.hold({ name, ttlMs: 1500, permitCount: 2, requestId });
    const queued = await stream.next('queued');
    expect(queued).toMatchObject({ requestId, position: 1, waiterCount: 1 });
    expect(queued.holder).toMatchObject({
      holderId: 'alice',
      permitCount: 2,
      fencingToken: holder.fencingToken,
      mode: LockMode.LOCK_MODE_UNSPECIFIED,
    });
    await client.release(holder.leaseId);
    const { lease } = await stream.next('granted');
    expect(lease).toMatchObject({ name, requestId, permitCount: 2 });
    const first = await stream.next('renewed');
    const second = await stream.next('renewed');
    expect(ms(second.expireOffset)).toBeGreaterThan(ms(first.expireOffset));
    expect((await client.release(lease?.leaseId ?? '')).released).toBe(true);
    await stream.until('released');
    expect((await stream.ending).code).toBe('OK');
    expect(stream.kinds.filter((kind) => kind !== 'renewed')).toEqual(['queued', 'granted', 'released']);
    expect((await client.get(name)).usedCount).toBe(0);
  });

  test.concurrent(
    'several HoldPermits streams hold permits at the same time, each with its own fencing token',
    async () => {
      const name = 'side by side';
      const streams = Array.from({ length: 3 }, (_, index) =>
        (index % 2 === 0 ? client : elsewhere).hold({ name, ttlMs: 3000, initialLimit: 3 }),
      );
      const leases = await Promise.all(streams.map(async (stream) => (await stream.next('granted')).lease));
      expect(new Set(leases.map((lease) => lease?.fencingToken)).size).toBe(3);
      const fourth = client.hold({ name, waitMs: 0 });
      expect(await fourth.ending).toMatchObject({ code: 'ABORTED', reason: 'CONTENDED' });
      expect(fourth.kinds).toEqual([]);
      for (const stream of streams) stream.cancel();
    },
  );

  test.concurrent(
    'HoldPermits with a lease_id keeps token and permits, and ends the older stream with SUPERSEDED',
    async () => {
      const name = 'attached';
      const older = client.hold({ name, ttlMs: 3000, permitCount: 2, initialLimit: 2 });
      const { lease } = await older.next('granted');
      const newer = elsewhere.attach(lease?.leaseId ?? '');
      expect((await newer.next('granted')).lease).toMatchObject({
        leaseId: lease?.leaseId,
        fencingToken: lease?.fencingToken,
        permitCount: 2,
      });
      expect(await older.ending).toMatchObject({ code: 'ABORTED', reason: 'SUPERSEDED' });
      await newer.next('renewed');
      expect(await client.get(name)).toMatchObject({ usedCount: 2, holderCount: 1 });
      newer.cancel();
    },
  );

  test.concurrent(
    'HoldPermits with the lease_id of an ended lease answers LEASE_NOT_HELD, and grants nothing',
    async () => {
      const name = 'attached late';
      const { leaseId } = await client.acquire({ name, ttlMs: 20_000, initialLimit: 1 });
      await client.release(leaseId);
      const stream = elsewhere.attach(leaseId);
      expect(await stream.ending).toMatchObject({
        code: 'NOT_FOUND',
        reason: 'LEASE_NOT_HELD',
        metadata: { cause: 'RELEASED' },
      });
      expect(stream.kinds).toEqual([]);
      expect((await client.get(name)).usedCount).toBe(0);
    },
  );

  test.concurrent(
    'HoldPermits with a repeated request_id keeps its place in the queue on another server',
    async () => {
      const name = 'taken up';
      const holder = await client.acquire({ name, ttlMs: 20_000, initialLimit: 1 });
      const requestId = randomUUID();
      const older = client.hold({ name, requestId });
      expect(await older.next('queued')).toMatchObject({ position: 1 });
      const second = client.hold({ name });
      expect(await second.next('queued')).toMatchObject({ position: 2 });
      const newer = elsewhere.hold({ name, requestId });
      expect(await newer.next('queued')).toMatchObject({ position: 1, waiterCount: 2 });
      expect(await older.ending).toMatchObject({ code: 'ABORTED', reason: 'SUPERSEDED' });
      await client.release(holder.leaseId);
      const { lease } = await newer.until('granted');
      await client.release(lease?.leaseId ?? '');
      expect((await second.until('granted')).lease?.fencingToken).toBeGreaterThan(lease?.fencingToken ?? 0n);
      second.cancel();
    },
  );

  test.concurrent(
    'HoldPermits with a repeated request_id attaches to its lease, if permit_count is the same',
    async () => {
      const name = 'taken up held';
      const requestId = randomUUID();
      const first = await client.acquire({ name, requestId, ttlMs: 3000, permitCount: 2, initialLimit: 4 });
      const wrong = elsewhere.hold({ name, requestId, permitCount: 1 });
      expect(await wrong.ending).toMatchObject({
        code: 'INVALID_ARGUMENT',
        reason: 'REQUEST_MISMATCH',
        metadata: { field: 'permit_count' },
      });
      const stream = elsewhere.hold({ name, requestId, ttlMs: 3000, permitCount: 2 });
      expect((await stream.next('granted')).lease).toMatchObject({
        leaseId: first.leaseId,
        fencingToken: first.fencingToken,
      });
      await stream.next('renewed');
      stream.cancel();
    },
  );

  test.concurrent(
    'the permits of a cancelled HoldPermits stream stay taken until the ttl has passed',
    async () => {
      const name = 'gone';
      const stream = client.hold({ name, ttlMs: 2000, permitCount: 2, initialLimit: 2 });
      await stream.until('granted');
      stream.cancel();
      expect((await client.get(name)).usedCount).toBe(2);
      await eventually('the expiry', async () => (await client.get(name)).usedCount === 0);
    },
  );
});

describe('bounds of numbers', () => {
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
});
