import { randomUUID } from 'node:crypto';
import { type Lease, LockMode, LossCause } from '../../../generated/typescript/holdfast/v1/lease';
import { SHORT_TTL_MS, SLOW_MS } from '../../end-to-end/in-process-server';
import { ServerPair, untilWaiterCount } from '../../end-to-end/server-pair';
import { refusal } from '../../support/clients/calls';
import { type LockClient, ms, type SemaphoreClient } from '../../support/clients/lease-client';
import { eventually } from '../../support/eventually';

let pair: ServerPair;
let client: SemaphoreClient;
let elsewhere: SemaphoreClient;
let locks: LockClient;

beforeAll(async () => {
  pair = await ServerPair.start();
  client = pair.first.semaphores();
  elsewhere = pair.second.semaphores();
  locks = pair.first.client();
});

afterAll(() => pair?.close());

test.concurrent(
  'a semaphore with free permits grants permits immediately, with every field of the lease',
  async () => {
    const name = 'free';
    const requestId = randomUUID();
    await client.setLimit(name, 10);
    const t0 = performance.now();
    const lease = await client.acquire({ name, ttlMs: 5000, requestId, permitCount: 4 });
    const took = performance.now() - t0;
    expect(lease).toMatchObject({ name, requestId, permitCount: 4, ttl: { seconds: 5n, nanos: 0 } });
    expect(lease.leaseId).toMatch(/^[A-Za-z0-9_-]{48,1024}$/);
    expect(ms(lease.expireOffset)).toBeLessThan(5000 + took);
    expect(ms(lease.expireOffset)).toBeGreaterThan(4950);
    const defaults = await elsewhere.acquire({ name, waitMs: 0 });
    expect(defaults).toMatchObject({ permitCount: 1, ttl: { seconds: 30n, nanos: 0 } });
    expect(defaults.fencingToken).toBeGreaterThan(lease.fencingToken);
    expect(await client.get(name)).toMatchObject({ usedCount: 5, overcommittedCount: 0, holderCount: 2 });
  },
);

test.concurrent(
  'a semaphore with free permits is shown by GetSemaphore with holders and waiters, and without lease_id, request_id and mode',
  async () => {
    const name = 'looked at';
    await client.setLimit(name, 4);
    const metadata = { at: '10.0.0.1' };
    const lease = await client.acquire({
      name,
      ttlMs: 20_000,
      permitCount: 3,
      holderId: 'alice',
      metadata,
    });
    const waiting = refusal(client.acquire({ name, permitCount: 2, holderId: 'bob', waitMs: 1000 }));
    await untilWaiterCount(client, name, 1);
    const semaphore = await elsewhere.get(name);
    expect(semaphore).toMatchObject({
      name,
      limit: 4,
      usedCount: 3,
      waiterCount: 1,
      holderCount: 1,
      lastFencingToken: lease.fencingToken,
      holders: [
        {
          holderId: 'alice',
          metadata: new Map(Object.entries(metadata)),
          fencingToken: lease.fencingToken,
          permitCount: 3,
          mode: LockMode.LOCK_MODE_UNSPECIFIED,
          revoked: false,
        },
      ],
      waiters: [{ holderId: 'bob', permitCount: 2, position: 1, mode: LockMode.LOCK_MODE_UNSPECIFIED }],
    });
    const shown = JSON.stringify(semaphore, (_key, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value instanceof Map ? [...value] : value,
    );
    for (const secret of [lease.leaseId, lease.requestId]) expect(shown).not.toContain(secret);
    expect((await waiting).reason).toBe('CONTENDED');
  },
);

test.concurrent(
  'a semaphore without enough free permits refuses a call with wait_timeout 0 immediately, and lets another call wait (chapter 28)',
  async () => {
    const name = 'busy';
    await client.setLimit(name, 10);
    const held = await client.acquire({ name, ttlMs: 20_000, permitCount: 8, holderId: 'alice' });
    const stopwatch = pair.stopwatch();
    const ending = await refusal(elsewhere.acquire({ name, permitCount: 3, waitMs: 0 }));
    expect(stopwatch.chargedMs).toBeLessThan(SLOW_MS);
    expect(ending).toMatchObject({
      code: 'ABORTED',
      reason: 'CONTENDED',
      metadata: { holder_id: 'alice', waiter_count: '0' },
    });
    expect(ending.text).toMatch(
      /^semaphore "busy" has 8 of 10 permits taken by alice for (19|20) s more; raise wait_timeout to queue \[CONTENDED\]$/,
    );
    expect(ending.retryAfterMs).toBe(5000);
    const patient = elsewhere.acquire({ name, permitCount: 3, waitMs: 10_000 });
    await untilWaiterCount(client, name, 1);
    await client.release(held.leaseId);
    expect((await patient).permitCount).toBe(3);
  },
);

test.concurrent(
  'a semaphore without enough free permits answers CONTENDED with the holder that expires first, the waiter count and the waited time',
  async () => {
    const name = 'several';
    await client.setLimit(name, 10);
    await client.acquire({ name, ttlMs: 100_000, permitCount: 5, holderId: 'bob' });
    await client.acquire({ name, ttlMs: 20_000, permitCount: 3, holderId: 'alice' });
    const waiting = refusal(client.acquire({ name, permitCount: 3, waitMs: 1500 }));
    await untilWaiterCount(client, name, 1);
    const { text } = await refusal(client.acquire({ name, waitMs: 300 }));
    expect(text).toMatch(
      /^semaphore "several" has 8 of 10 permits taken, 3 of them by alice for (19|20) s more, with 1 waiting; not granted within \d+ ms; raise wait_timeout to wait longer \[CONTENDED\]$/,
    );
    expect((await waiting).reason).toBe('CONTENDED');
  },
);

test.concurrent(
  'a semaphore without enough free permits keeps no place in the queue for a refused attempt (chapter 29)',
  async () => {
    const name = 'withdrawn';
    const first = await client.acquire({ name, ttlMs: 2 * SHORT_TTL_MS, permitCount: 2, initialLimit: 2 });
    expect((await refusal(elsewhere.acquire({ name, waitMs: 0 }))).reason).toBe('CONTENDED');
    expect(await client.get(name)).toMatchObject({ usedCount: 2, waiterCount: 0 });
    // The next call to the semaphore removes the expired lease.
    await eventually('the expiry', async () => (await client.get(name)).usedCount === 0);
    const second = await elsewhere.acquire({ name, waitMs: 0, permitCount: 2 });
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
  },
);

test.concurrent(
  'a semaphore without enough free permits grants a large request before later small requests',
  async () => {
    const name = 'weighted';
    await client.setLimit(name, 10);
    const [first, second] = [
      await client.acquire({ name, ttlMs: 20_000, permitCount: 4 }),
      await client.acquire({ name, ttlMs: 20_000, permitCount: 4 }),
    ];
    const order: string[] = [];
    const wait = async (label: string, from: SemaphoreClient, permitCount: number): Promise<Lease> => {
      const lease = await from.acquire({ name, permitCount, ttlMs: 20_000, waitMs: 15_000 });
      order.push(label);
      return lease;
    };
    const waits = [wait('large', client, 5)];
    await untilWaiterCount(client, name, 1);
    for (let index = 0; index < 4; index += 1) {
      waits.push(wait(`small ${index}`, index % 2 === 0 ? elsewhere : client, 1));
      await untilWaiterCount(client, name, index + 2);
      // Two permits are free all the time, but no small request overtakes the large request.
      expect((await refusal(client.acquire({ name, waitMs: 0 }))).reason).toBe('CONTENDED');
    }
    expect(order).toEqual([]);
    await client.release(first.leaseId);
    const [large, small] = await Promise.all(waits.slice(0, 2));
    expect(small?.fencingToken).toBeGreaterThan(large?.fencingToken ?? 0n);
    expect((await client.get(name)).usedCount).toBe(10);
    await client.release(second.leaseId);
    const tokens = (await Promise.all(waits)).map(({ fencingToken }) => fencingToken);
    expect([...tokens].sort((a, b) => Number(a - b))).toEqual(tokens);
  },
);

test.concurrent(
  'a semaphore without enough free permits grants waiters of both servers in the order of the queue, and counts used permits right (chapter 32, 33)',
  async () => {
    const name = 'fair';
    await client.setLimit(name, 2);
    const held = [
      await client.acquire({ name, ttlMs: 20_000 }),
      await elsewhere.acquire({ name, ttlMs: 20_000 }),
    ];
    const tokens: bigint[] = [];
    const waits: Promise<void>[] = [];
    for (let index = 0; index < 6; index += 1) {
      const from = index % 2 === 0 ? client : elsewhere;
      waits.push(
        from.acquire({ name, ttlMs: 20_000, waitMs: 15_000 }).then(async (lease) => {
          tokens[index] = lease.fencingToken;
          expect((await client.get(name)).usedCount).toBeLessThanOrEqual(2);
          await from.release(lease.leaseId);
        }),
      );
      await untilWaiterCount(client, name, index + 1);
    }
    // The other server releases the lease twice. The second release frees no other lease.
    await elsewhere.release(held[0]?.leaseId ?? '');
    await elsewhere.release(held[0]?.leaseId ?? '');
    await Promise.all(waits);
    expect([...tokens].sort((a, b) => Number(a - b))).toEqual(tokens);
    await client.release(held[1]?.leaseId ?? '');
    expect(await client.get(name)).toMatchObject({
      usedCount: 0,
      holderCount: 0,
      waiterCount: 0,
      holders: [],
    });
  },
);

test.concurrent('a lease of permits expires at its own ttl beside a longer lease (chapter 34)', async () => {
  const name = 'lifetimes';
  const short = await client.acquire({
    name,
    ttlMs: SHORT_TTL_MS,
    permitCount: 1,
    initialLimit: 2,
    holderId: 'short',
  });
  const long = await elsewhere.acquire({ name, ttlMs: 20_000, permitCount: 1, holderId: 'long' });
  const stopwatch = pair.stopwatch();
  const next = await client.acquire({ name, ttlMs: 20_000, waitMs: 20_000, holderId: 'next' });
  expect(stopwatch.chargedMs).toBeLessThan(SHORT_TTL_MS + SLOW_MS);
  const { holders } = await client.get(name);
  expect(holders.map(({ holderId }) => holderId)).toEqual(['long', 'next']);
  expect(await client.release(short.leaseId)).toEqual({
    released: false,
    lossCause: LossCause.LOSS_CAUSE_EXPIRED,
  });
  // The late release has freed no other lease.
  expect((await client.get(name)).usedCount).toBe(2);
  for (const { leaseId } of [long, next]) expect((await client.release(leaseId)).released).toBe(true);
});

test.concurrent(
  'a lease of permits can be released twice with the same answer: `released`, or the cause EXPIRED after its expiry (chapter 30)',
  async () => {
    const name = 'says so';
    const kept = await client.acquire({ name, ttlMs: 20_000, initialLimit: 5 });
    const lost = await client.acquire({ name, ttlMs: SHORT_TTL_MS });
    await eventually('the expiry', async () => (await client.get(name)).holderCount === 1);
    for (let time = 0; time < 2; time += 1) {
      expect(await elsewhere.release(kept.leaseId)).toEqual({
        released: true,
        lossCause: LossCause.LOSS_CAUSE_UNSPECIFIED,
      });
      expect(await elsewhere.release(lost.leaseId)).toEqual({
        released: false,
        lossCause: LossCause.LOSS_CAUSE_EXPIRED,
      });
    }
  },
);

test.concurrent(
  'a lease of permits is renewed with all its permits, and is never restored after its end (chapter 35)',
  async () => {
    const name = 'refreshed';
    const lease = await client.acquire({ name, ttlMs: 3000, permitCount: 3, initialLimit: 3 });
    const renewed = await elsewhere.renew(lease.leaseId, 4000);
    expect(renewed).toMatchObject({
      permitCount: 3,
      fencingToken: lease.fencingToken,
      leaseId: lease.leaseId,
    });
    expect(ms(renewed.ttl)).toBe(4000);
    await client.release(lease.leaseId);
    const late = await client.acquire({ name, ttlMs: SHORT_TTL_MS, permitCount: 3 });
    await eventually('the expiry', async () => (await client.get(name)).usedCount === 0);
    for (const [{ leaseId }, cause] of [
      [lease, 'RELEASED'],
      [late, 'EXPIRED'],
    ] as const) {
      expect(await refusal(elsewhere.renew(leaseId))).toMatchObject({
        code: 'NOT_FOUND',
        reason: 'LEASE_NOT_HELD',
        metadata: { cause },
      });
    }
    expect(await client.get(name)).toMatchObject({ usedCount: 0, holderCount: 0 });
  },
);

test.concurrent(
  'AcquirePermits with a repeated request_id answers with the same lease, even if initial_limit, ttl and wait_timeout differ',
  async () => {
    const wanted = { name: 'same', requestId: randomUUID(), permitCount: 2 };
    const first = await client.acquire({ ...wanted, ttlMs: 5000, initialLimit: 2 });
    const again = await elsewhere.acquire({ ...wanted, ttlMs: 9000, waitMs: 0, initialLimit: 7 });
    expect(again).toMatchObject({
      leaseId: first.leaseId,
      fencingToken: first.fencingToken,
      permitCount: 2,
    });
    expect(await client.get('same')).toMatchObject({ limit: 2, usedCount: 2 });
    await client.release(first.leaseId);
    expect(await refusal(client.acquire(wanted))).toMatchObject({
      code: 'FAILED_PRECONDITION',
      reason: 'REQUEST_FINISHED',
    });
  },
);

test.concurrent(
  'AcquirePermits with a repeated request_id answers REQUEST_MISMATCH with the name of a changed field',
  async () => {
    const requestId = randomUUID();
    const wanted = { name: 'mismatch', requestId, permitCount: 2, holderId: 'alice', initialLimit: 9 };
    await client.acquire(wanted);
    for (const [other, field] of [
      [{ permitCount: 3 }, 'permit_count'],
      [{ holderId: 'bob' }, 'holder_id'],
    ] as const) {
      const ending = await refusal(elsewhere.acquire({ ...wanted, ...other }));
      expect(ending).toMatchObject({
        code: 'INVALID_ARGUMENT',
        reason: 'REQUEST_MISMATCH',
        metadata: { field },
      });
    }
    expect((await client.get('mismatch')).usedCount).toBe(2);
  },
);

test.concurrent('a lock and a semaphore of the same name are held independently of each other', async () => {
  const name = 'both';
  const lock = await locks.acquire({ name, ttlMs: 20_000, holderId: 'of the lock' });
  const requestId = lock.requestId;
  const permits = await client.acquire({ name, ttlMs: 20_000, waitMs: 0, initialLimit: 1, requestId });
  expect(permits.leaseId).not.toBe(lock.leaseId);
  expect(await client.get(name)).toMatchObject({ holderCount: 1, holders: [{ holderId: '' }] });
  await client.delete(name, true);
  expect(await locks.get(name)).toMatchObject({ holderCount: 1, holders: [{ holderId: 'of the lock' }] });
  await locks.renew(lock.leaseId);
});

test.concurrent(
  'a lock and a semaphore of the same name refuse the lease_id of the other service',
  async () => {
    const name = 'foreign';
    const lock = await locks.acquire({ name, ttlMs: 20_000 });
    const permits = await client.acquire({ name, ttlMs: 20_000, initialLimit: 1 });
    for (const [asked, leaseId, service] of [
      [client, lock.leaseId, 'semaphore'],
      [locks, permits.leaseId, 'lock'],
    ] as const) {
      const refused = { code: 'INVALID_ARGUMENT', reason: 'INVALID_FIELD' };
      const text = `lease_id is not a lease_id that this service gave out for a ${service} [INVALID_FIELD]`;
      expect(await refusal(asked.renew(leaseId))).toMatchObject({ ...refused, text });
      expect(await refusal(asked.release(leaseId))).toMatchObject({ ...refused, text });
      expect(await asked.attach(leaseId).ending).toMatchObject({ ...refused, text });
    }
    expect((await locks.release(lock.leaseId)).released).toBe(true);
    expect((await client.release(permits.leaseId)).released).toBe(true);
  },
);
