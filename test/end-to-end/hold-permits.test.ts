import { randomUUID } from 'node:crypto';
import { LockMode } from '../../generated/typescript/holdfast/v1/lease';
import { eventually } from '../support/eventually';
import { ms, type SemaphoreClient } from '../support/clients/lease-client';
import { ServerPair } from './server-pair';

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
