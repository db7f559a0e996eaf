import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeAll } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { InProcessServer, SLOW_MS } from './in-process-server';
import { untilWaiterCount } from './server-pair';
import { refusal } from '../support/clients/calls';
import { type LockClient, ms } from '../support/clients/lease-client';

let redis: RedisProcess;
let server: InProcessServer;
let client: LockClient;

beforeAll(async () => {
  redis = await RedisProcess.start();
  server = await InProcessServer.start(redis.url);
  client = server.client();
});

afterAll(() =>
  closeAll(
    () => server?.close(),
    () => redis?.close(),
  ),
);

describe('a stream that holds a lock', () => {
  test.concurrent('sends granted as its first event for a free lock', async () => {
    const requestId = randomUUID();
    const stream = client.hold({ name: 'free', ttlMs: 3000, requestId });
    const { lease } = await stream.next('granted');
    expect(lease).toMatchObject({ name: 'free', requestId, permitCount: 1, ttl: { seconds: 3n, nanos: 0 } });
    expect(lease?.leaseId).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(ms(lease?.expireOffset)).toBeGreaterThan(2950);
    stream.cancel();
  });

  test.concurrent(
    'sends renewed every third of the ttl, with an expire_offset from the opening call',
    async () => {
      const stopwatch = redis.stopwatch();
      const stream = client.hold({ name: 'renewing', ttlMs: 3000 });
      const { lease } = await stream.next('granted');
      let before = ms(lease?.expireOffset);
      for (let round = 0; round < 3; round += 1) {
        const { expireOffset } = await stream.next('renewed');
        const step = ms(expireOffset) - before;
        expect(step).toBeGreaterThan(1000 - 5);
        expect(step).toBeLessThan(1000 + SLOW_MS + stopwatch.coreWaitMs);
        // The new end is about one ttl after the event.
        const left = stream.openedAt + ms(expireOffset) - (stream.received.at(-1)?.at ?? NaN);
        expect(left).toBeGreaterThan(3000 - SLOW_MS - stopwatch.coreWaitMs);
        expect(left).toBeLessThan(3000);
        before = ms(expireOffset);
      }
      stream.cancel();
    },
  );

  test.concurrent('sends released and ends OK when its lease is released', async () => {
    const stream = client.hold({ name: 'released', ttlMs: 20_000 });
    const { lease } = await stream.next('granted');
    const stopwatch = redis.stopwatch();
    expect((await client.release(lease?.leaseId ?? '')).released).toBe(true);
    expect(await stream.next('released')).toEqual({});
    expect(stopwatch.chargedMs).toBeLessThan(SLOW_MS);
    expect((await stream.ending).code).toBe('OK');
    expect(stream.kinds).toEqual(['granted', 'released']);
  });

  test.concurrent('leaves its lease for one ttl after its client has disconnected', async () => {
    const name = 'gone';
    const stopwatch = redis.stopwatch();
    const stream = client.hold({ name, ttlMs: 2100 });
    const { expireOffset } = await stream.until('renewed');
    stream.cancel();
    await client.acquire({ name, waitMs: 20_000 });
    // The holder may work until its deadline after its connection is broken.
    const afterDeadline = performance.now() - (stream.openedAt + ms(expireOffset));
    expect(afterDeadline).toBeGreaterThan(0);
    expect(afterDeadline).toBeLessThan(SLOW_MS + stopwatch.coreWaitMs);
  });

  test.concurrent('renews with the longer ttl after a RenewLock call', async () => {
    const stream = client.hold({ name: 'prolonged', ttlMs: 2100 });
    const { lease } = await stream.next('granted');
    await client.renew(lease?.leaseId ?? '', 20_000);
    const answeredAt = performance.now() - stream.openedAt;
    for (;;) {
      // An event with the old ttl may still be in flight.
      const offset = ms((await stream.next('renewed')).expireOffset);
      if (offset > answeredAt + 2100) {
        expect(offset).toBeGreaterThan(19_000);
        break;
      }
    }
    stream.cancel();
  });
});

describe('a stream that waits for a lock', () => {
  test.concurrent('sends queued immediately, with position, waiter count and holder', async () => {
    const name = 'queued';
    const holder = await client.acquire({ name, ttlMs: 20_000, holderId: 'alice', metadata: { at: 'work' } });
    const requestId = randomUUID();
    const queuing = redis.stopwatch();
    const stream = client.hold({ name, ttlMs: 20_000, requestId });
    const queued = await stream.next('queued');
    expect(queuing.chargedMs).toBeLessThan(SLOW_MS);
    expect(queued).toMatchObject({ requestId, position: 1, waiterCount: 1 });
    expect(queued.holder).toMatchObject({
      holderId: 'alice',
      metadata: new Map([['at', 'work']]),
      fencingToken: holder.fencingToken,
      permitCount: 1,
    });
    const stopwatch = redis.stopwatch();
    await client.release(holder.leaseId);
    const { lease } = await stream.next('granted');
    expect(stopwatch.chargedMs).toBeLessThan(SLOW_MS);
    expect(lease?.fencingToken).toBeGreaterThan(holder.fencingToken);
    stream.cancel();
  });

  test.concurrent('sends queued again when its position has changed, at most every 2 s', async () => {
    const name = 'moving up';
    const holder = await client.acquire({ name, ttlMs: 20_000 });
    const ahead = client.hold({ name });
    await untilWaiterCount(client, name, 1);
    const stopwatch = redis.stopwatch();
    const stream = client.hold({ name });
    expect(await stream.next('queued')).toMatchObject({ position: 2, waiterCount: 2 });
    await sleep(300);
    ahead.cancel();
    // The server learns of the change immediately, and sends the event 2 s after its previous event.
    expect(await stream.next('queued')).toMatchObject({ position: 1, waiterCount: 1 });
    expect(stopwatch.elapsedMs).toBeGreaterThan(2000);
    expect(stopwatch.chargedMs).toBeLessThan(3000 + SLOW_MS);
    await client.release(holder.leaseId);
    await stream.next('granted');
    stream.cancel();
  });

  test.concurrent(
    'ends with CONTENDED at its wait_timeout, and without any event if wait_timeout is 0',
    async () => {
      const name = 'given up';
      await client.acquire({ name, ttlMs: 20_000, holderId: 'alice' });
      const once = client.hold({ name, waitMs: 0 });
      expect(await once.ending).toMatchObject({
        code: 'ABORTED',
        reason: 'CONTENDED',
        metadata: { holder_id: 'alice', waiter_count: '0' },
      });
      expect(once.kinds).toEqual([]);
      const patient = client.hold({ name, waitMs: 400 });
      expect(await patient.ending).toMatchObject({ code: 'ABORTED', reason: 'CONTENDED' });
      expect(performance.now() - patient.openedAt).toBeGreaterThanOrEqual(399);
      expect(patient.kinds).toEqual(['queued']);
    },
  );

  test.concurrent('leaves the queue when its client has disconnected', async () => {
    const name = 'skipped';
    const holder = await client.acquire({ name, ttlMs: 20_000 });
    const leaving = client.hold({ name });
    await leaving.next('queued');
    const next = client.hold({ name });
    expect(await next.next('queued')).toMatchObject({ position: 2 });
    leaving.cancel();
    await untilWaiterCount(client, name, 1);
    const stopwatch = redis.stopwatch();
    await client.release(holder.leaseId);
    await next.until('granted');
    expect(stopwatch.chargedMs).toBeLessThan(SLOW_MS);
    next.cancel();
  });

  test.concurrent('ends with REQUEST_FINISHED if its request_id belongs to an ended lease', async () => {
    const { requestId, leaseId } = await client.acquire({ name: 'over', ttlMs: 20_000 });
    await client.release(leaseId);
    const stream = client.hold({ name: 'over', requestId });
    expect(await stream.ending).toMatchObject({ code: 'FAILED_PRECONDITION', reason: 'REQUEST_FINISHED' });
    expect(stream.kinds).toEqual([]);
  });
});

test.concurrent('streams and unary calls wait in one queue', async () => {
  const name = 'one queue';
  const first = await client.acquire({ name, ttlMs: 20_000 });
  const stream = client.hold({ name, ttlMs: 20_000 });
  await stream.next('queued');
  const unary = client.acquire({ name, waitMs: 10_000 });
  await untilWaiterCount(client, name, 2);
  await client.release(first.leaseId);
  const { lease } = await stream.until('granted');
  expect(await refusal(client.acquire({ name, waitMs: 0 }))).toMatchObject({ reason: 'CONTENDED' });
  await client.release(lease?.leaseId ?? '');
  expect((await unary).fencingToken).toBeGreaterThan(lease?.fencingToken ?? 0n);
});
