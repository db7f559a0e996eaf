import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { InProcessServer } from './in-process-server';
import { refusal } from '../support/clients/call-ending';
import { ms } from '../support/clients/lease-client';
import type { LockClient } from '../support/clients/lock-client';

/** Within this whatever needs no waiting is done, on a busy machine too; what it must not wait for takes longer. */
const SLOW_MS = 750;

let redis: RedisProcess;
let server: InProcessServer;
let client: LockClient;

beforeAll(async () => {
  redis = await RedisProcess.start();
  server = await InProcessServer.start(redis.url);
  client = server.client();
});

afterAll(async () => {
  await server?.close();
  await redis?.close();
});

async function waiterCount(name: string, count: number): Promise<void> {
  await eventually(`${count} waiters`, async () => (await client.get(name)).waiterCount === count);
}

describe('a stream that holds', () => {
  test.concurrent('says granted first where nobody holds, and nothing before', async () => {
    const requestId = randomUUID();
    const stream = client.hold({ name: 'free', ttlMs: 3000, requestId });
    const { lease } = await stream.next('granted');
    expect(lease).toMatchObject({ name: 'free', requestId, permitCount: 1, ttl: { seconds: 3n, nanos: 0 } });
    expect(lease?.leaseId).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(ms(lease?.expireOffset)).toBeGreaterThan(2950);
    stream.cancel();
  });

  test.concurrent('renews every third of the ttl, and counts each end from its opening', async () => {
    const stream = client.hold({ name: 'renewing', ttlMs: 3000 });
    const { lease } = await stream.next('granted');
    let before = ms(lease?.expireOffset);
    for (let round = 0; round < 3; round += 1) {
      const { expireOffset } = await stream.next('renewed');
      const step = ms(expireOffset) - before;
      expect(step).toBeGreaterThan(1000 - 5);
      expect(step).toBeLessThan(1000 + SLOW_MS);
      // A whole ttl from about when it came.
      const left = stream.openedAt + ms(expireOffset) - (stream.received.at(-1)?.at ?? NaN);
      expect(left).toBeGreaterThan(3000 - SLOW_MS);
      expect(left).toBeLessThan(3000);
      before = ms(expireOffset);
    }
    stream.cancel();
  });

  test.concurrent('says released, and ends OK, when its lease is released', async () => {
    const stream = client.hold({ name: 'released', ttlMs: 20_000 });
    const { lease } = await stream.next('granted');
    const t0 = performance.now();
    expect((await client.release(lease?.leaseId ?? '')).released).toBe(true);
    expect(await stream.next('released')).toEqual({});
    expect(performance.now() - t0).toBeLessThan(SLOW_MS);
    expect((await stream.ending).code).toBe('OK');
    expect(stream.kinds).toEqual(['granted', 'released']);
  });

  test.concurrent('keeps its lease for a ttl after its client has gone, and no longer', async () => {
    const name = 'gone';
    const stream = client.hold({ name, ttlMs: 2100 });
    const { expireOffset } = await stream.until('renewed');
    stream.cancel();
    await client.acquire({ name, waitMs: 5000 });
    // A broken connection does not prove that the holder has stopped: it may believe until its deadline.
    const afterDeadline = performance.now() - (stream.openedAt + ms(expireOffset));
    expect(afterDeadline).toBeGreaterThan(0);
    expect(afterDeadline).toBeLessThan(SLOW_MS);
  });

  test.concurrent('takes over a longer ttl that a renewal by lease_id gave', async () => {
    const stream = client.hold({ name: 'prolonged', ttlMs: 2100 });
    const { lease } = await stream.next('granted');
    await client.renew(lease?.leaseId ?? '', 20_000);
    const answeredAt = performance.now() - stream.openedAt;
    for (;;) {
      // One may have been on its way when the ttl grew.
      const offset = ms((await stream.next('renewed')).expireOffset);
      if (offset > answeredAt + 2100) {
        expect(offset).toBeGreaterThan(19_000);
        break;
      }
    }
    stream.cancel();
  });
});

describe('a stream that waits', () => {
  test.concurrent('says at once that it is queued, where, and behind whom', async () => {
    const name = 'queued';
    const holder = await client.acquire({ name, ttlMs: 20_000, holderId: 'alice', metadata: { at: 'work' } });
    const requestId = randomUUID();
    const stream = client.hold({ name, ttlMs: 5000, requestId });
    const queued = await stream.next('queued');
    expect((stream.received[0]?.at ?? NaN) - stream.openedAt).toBeLessThan(SLOW_MS);
    expect(queued).toMatchObject({ requestId, position: 1, waiterCount: 1 });
    expect(queued.holder).toMatchObject({
      holderId: 'alice',
      metadata: new Map([['at', 'work']]),
      fencingToken: holder.fencingToken,
      permitCount: 1,
    });
    const t0 = performance.now();
    await client.release(holder.leaseId);
    const { lease } = await stream.next('granted');
    expect(performance.now() - t0).toBeLessThan(SLOW_MS);
    expect(lease?.fencingToken).toBeGreaterThan(holder.fencingToken);
    stream.cancel();
  });

  test.concurrent('says its place again while that changes, at most every two seconds', async () => {
    const name = 'moving up';
    const holder = await client.acquire({ name, ttlMs: 20_000 });
    const ahead = [client.hold({ name }), client.hold({ name })];
    await waiterCount(name, 2);
    const stream = client.hold({ name });
    expect(await stream.next('queued')).toMatchObject({ position: 3, waiterCount: 3 });
    await sleep(300);
    ahead[0]?.cancel();
    // The change is known long before, and told when two seconds are over.
    expect(await stream.next('queued')).toMatchObject({ position: 2, waiterCount: 2 });
    ahead[1]?.cancel();
    expect(await stream.next('queued')).toMatchObject({ position: 1, waiterCount: 1 });
    const times = stream.received.map(({ at }) => at);
    for (const [index, at] of times.entries()) {
      if (index === 0) continue;
      // The server counts from when it sent the one before.
      expect(at - (times[index - 1] ?? NaN)).toBeGreaterThan(2000 - 300);
      expect(at - (times[index - 1] ?? NaN)).toBeLessThan(3000 + SLOW_MS);
    }
    await client.release(holder.leaseId);
    await stream.next('granted');
    stream.cancel();
  });

  test.concurrent('gives up at its wait_timeout with CONTENDED, and at zero without any event', async () => {
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
  });

  test.concurrent('leaves its place to the next when its client is gone', async () => {
    const name = 'skipped';
    const holder = await client.acquire({ name, ttlMs: 20_000 });
    const leaving = client.hold({ name });
    await leaving.next('queued');
    const next = client.hold({ name });
    expect(await next.next('queued')).toMatchObject({ position: 2 });
    leaving.cancel();
    await waiterCount(name, 1);
    const t0 = performance.now();
    await client.release(holder.leaseId);
    await next.until('granted');
    expect(performance.now() - t0).toBeLessThan(SLOW_MS);
    next.cancel();
  });

  test.concurrent('is refused by REQUEST_FINISHED when its lease has ended', async () => {
    const { requestId, leaseId } = await client.acquire({ name: 'over', ttlMs: 20_000 });
    await client.release(leaseId);
    const stream = client.hold({ name: 'over', requestId });
    expect(await stream.ending).toMatchObject({ code: 'FAILED_PRECONDITION', reason: 'REQUEST_FINISHED' });
    expect(stream.kinds).toEqual([]);
  });
});

test.concurrent('streams and unary calls wait in one queue, in the order of asking', async () => {
  const name = 'one queue';
  const first = await client.acquire({ name, ttlMs: 20_000 });
  const stream = client.hold({ name, ttlMs: 20_000 });
  await stream.next('queued');
  const unary = client.acquire({ name, waitMs: 10_000 });
  await waiterCount(name, 2);
  await client.release(first.leaseId);
  const { lease } = await stream.until('granted');
  expect(await refusal(client.acquire({ name, waitMs: 0 }))).toMatchObject({ reason: 'CONTENDED' });
  await client.release(lease?.leaseId ?? '');
  expect((await unary).fencingToken).toBeGreaterThan(lease?.fencingToken ?? 0n);
});
