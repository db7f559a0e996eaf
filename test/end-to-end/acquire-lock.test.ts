import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventuallyPasses } from '../support/eventually';
import { SHORT_TTL_MS, SLOW_MS } from './in-process-server';
import { ServerPair, untilWaiterCount } from './server-pair';
import { refusal } from '../support/clients/calls';
import { type LockClient, ms } from '../support/clients/lease-client';

let pair: ServerPair;
let client: LockClient;
let elsewhere: LockClient;

beforeAll(async () => {
  pair = await ServerPair.start();
  client = pair.first.client();
  elsewhere = pair.second.client();
});

afterAll(() => pair?.close());

describe('a free lock', () => {
  test.concurrent('is granted immediately, with every field of the lease', async () => {
    const requestId = randomUUID();
    const t0 = performance.now();
    const lease = await client.acquire({ name: 'free', ttlMs: 5000, requestId });
    const took = performance.now() - t0;
    expect(lease).toMatchObject({ name: 'free', requestId, permitCount: 1, ttl: { seconds: 5n, nanos: 0 } });
    expect(lease.leaseId).toMatch(/^[A-Za-z0-9_-]{48,1024}$/);
    expect(lease.fencingToken).toBeGreaterThan(0n);
    expect(lease.fencingToken).toBeLessThan(2n ** 53n);
    expect(ms(lease.expireOffset)).toBeLessThan(5000 + took);
    expect(ms(lease.expireOffset)).toBeGreaterThan(4950);
  });

  test.concurrent('is granted with the default ttl and a new request_id by default', async () => {
    const lease = await client.acquire({ name: 'defaults' });
    expect(ms(lease.ttl)).toBe(30_000);
    expect(lease.requestId).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    const again = await client.acquire({ name: 'defaults', requestId: lease.requestId });
    expect(again.leaseId).toBe(lease.leaseId);
  });

  test.concurrent(
    'is granted with wait_timeout 0, and each grant has a greater fencing token (chapter 28)',
    async () => {
      let last = 0n;
      for (let round = 0; round < 5; round += 1) {
        const lease = await (round % 2 === 0 ? client : elsewhere).acquire({
          name: 'rising',
          waitMs: 0,
        });
        expect(lease.fencingToken).toBeGreaterThan(last);
        last = lease.fencingToken;
        await client.release(lease.leaseId);
      }
    },
  );
});

describe('a held lock', () => {
  test.concurrent(
    'refuses a call with wait_timeout 0 immediately, with holder, waiter count and retry delay (chapter 28)',
    async () => {
      await client.acquire({ name: 'held', ttlMs: 20_000, holderId: 'alice', waitMs: 0 });
      const waiting = refusal(client.acquire({ name: 'held', waitMs: 1500 }));
      await untilWaiterCount(client, 'held', 1);
      const ending = await refusal(client.acquire({ name: 'held', holderId: 'bob', waitMs: 0 }));
      expect(ending).toMatchObject({
        code: 'ABORTED',
        reason: 'CONTENDED',
        metadata: { holder_id: 'alice', waiter_count: '1' },
      });
      expect(ending.text).toMatch(
        /^lock "held" is held by alice for (19|20) s more; raise wait_timeout to queue \[CONTENDED\]$/,
      );
      expect(ending.retryAfterMs).toBeGreaterThan(0);
      expect((await waiting).reason).toBe('CONTENDED');
    },
  );

  test.concurrent('ends the wait of a caller at its wait_timeout (chapter 17, 19)', async () => {
    await client.acquire({ name: 'patient', ttlMs: 20_000 });
    const stopwatch = pair.stopwatch();
    const ending = await refusal(client.acquire({ name: 'patient', waitMs: 400 }));
    expect(stopwatch.elapsedMs).toBeGreaterThanOrEqual(399);
    expect(stopwatch.chargedMs).toBeLessThan(400 + SLOW_MS);
    expect(ending).toMatchObject({ code: 'ABORTED', reason: 'CONTENDED' });
    expect((await client.get('patient')).waiterCount).toBe(0);
  });

  test.concurrent.each([
    { deadlineMs: 300, marginMs: 30 },
    { deadlineMs: 1000, marginMs: 100 },
    { deadlineMs: 3000, marginMs: 250 },
  ])('ends the wait of a caller before its deadline of $deadlineMs ms', async ({ deadlineMs, marginMs }) => {
    const name = `deadline ${deadlineMs}`;
    await client.acquire({ name, ttlMs: 60_000 });
    // On a busy machine an answer may come after the deadline. The test then tries again.
    await eventuallyPasses('an answer before the deadline', async () => {
      const t0 = performance.now();
      const ending = await refusal(client.acquire({ name }, { deadlineMs }));
      const waited = performance.now() - t0;
      expect(ending).toMatchObject({ code: 'ABORTED', reason: 'CONTENDED' });
      expect(waited).toBeGreaterThan(deadlineMs - marginMs - 10);
      expect(waited).toBeLessThan(deadlineMs);
    });
  });

  test.concurrent('lets a caller without wait_timeout and deadline wait until the lock is free', async () => {
    const stopwatch = pair.stopwatch();
    const first = await client.acquire({ name: 'unbounded', ttlMs: 1200 });
    const second = await client.acquire({ name: 'unbounded', ttlMs: 1000 });
    expect(stopwatch.elapsedMs).toBeGreaterThan(1200);
    expect(stopwatch.chargedMs).toBeLessThan(1200 + SLOW_MS);
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
  });

  test.concurrent(
    'is granted to the next waiter at its release, with the full ttl (chapter 17)',
    async () => {
      const first = await client.acquire({ name: 'handed over', ttlMs: 20_000 });
      const waiting = elsewhere.acquire({ name: 'handed over', ttlMs: 2000, waitMs: 20_000 });
      await untilWaiterCount(client, 'handed over', 1);
      await sleep(300);
      const stopwatch = pair.stopwatch();
      await client.release(first.leaseId);
      const second = await waiting;
      expect(stopwatch.chargedMs).toBeLessThan(SLOW_MS);
      // The expire_offset counts from the receipt of the call, so the offset includes the wait.
      expect(ms(second.expireOffset)).toBeGreaterThan(2000 + 300 - 20);
      expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
    },
  );

  test.concurrent('is granted to waiters of both servers in the order of the queue', async () => {
    const name = 'order';
    const first = await client.acquire({ name, ttlMs: 20_000 });
    const order: number[] = [];
    const waits: Promise<void>[] = [];
    for (let index = 0; index < 6; index += 1) {
      const asked = (index % 2 === 0 ? client : elsewhere).acquire({ name, ttlMs: 20_000 });
      waits.push(
        asked.then(async (lease) => {
          order.push(index);
          await client.release(lease.leaseId);
        }),
      );
      await untilWaiterCount(client, name, index + 1);
    }
    await client.release(first.leaseId);
    await Promise.all(waits);
    expect(order).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test.concurrent('is not granted again to its own holder_id', async () => {
    await client.acquire({ name: 'again', ttlMs: 20_000, holderId: 'me' });
    const ending = await refusal(client.acquire({ name: 'again', holderId: 'me', waitMs: 0 }));
    expect(ending).toMatchObject({ reason: 'CONTENDED', metadata: { holder_id: 'me' } });
  });
});

test.concurrent(
  'the next waiter gets a lock when the ttl of its silent holder expires (chapter 14)',
  async () => {
    const stopwatch = pair.stopwatch();
    const first = await client.acquire({ name: 'silent', ttlMs: SHORT_TTL_MS });
    const second = await client.acquire({ name: 'silent', ttlMs: SHORT_TTL_MS, waitMs: 20_000 });
    expect(stopwatch.elapsedMs).toBeGreaterThan(ms(first.expireOffset));
    expect(stopwatch.chargedMs).toBeLessThan(SHORT_TTL_MS + SLOW_MS);
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
  },
);
