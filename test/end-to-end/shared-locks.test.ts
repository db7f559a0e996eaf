import { LockMode, type Lease } from '../../generated/typescript/holdfast/v1/lease';
import { refusal } from '../support/clients/calls';
import type { LockClient } from '../support/clients/lease-client';
import { ServerPair, untilWaiterCount } from './server-pair';

const SHARED = LockMode.LOCK_MODE_SHARED;
const EXCLUSIVE = LockMode.LOCK_MODE_EXCLUSIVE;

let pair: ServerPair;
let client: LockClient;
let elsewhere: LockClient;

beforeAll(async () => {
  pair = await ServerPair.start();
  client = pair.first.client();
  elsewhere = pair.second.client();
});

afterAll(() => pair?.close());

const read = (from: LockClient, name: string, waitMs = 0): Promise<Lease> =>
  from.acquire({ name, mode: SHARED, ttlMs: 20_000, waitMs });

test.concurrent(
  'several shared holders hold a lock at the same time, and GetLock shows their mode',
  async () => {
    const name = 'readers';
    const leases = [await read(client, name), await read(elsewhere, name), await read(client, name)];
    expect(new Set(leases.map(({ fencingToken }) => fencingToken)).size).toBe(3);
    for (const { permitCount } of leases) expect(permitCount).toBe(1);
    const writer = refusal(client.acquire({ name, waitMs: 800, holderId: 'writer' }));
    await untilWaiterCount(client, name, 1);
    const lock = await elsewhere.get(name);
    expect(lock).toMatchObject({ holderCount: 3, waiterCount: 1 });
    expect(lock.holders.map(({ mode, permitCount }) => [mode, permitCount])).toEqual(
      leases.map(() => [SHARED, 1]),
    );
    expect(lock.waiters).toMatchObject([
      { holderId: 'writer', mode: EXCLUSIVE, permitCount: 1, position: 1 },
    ]);
    expect((await writer).reason).toBe('CONTENDED');
  },
);

test.concurrent('an exclusive holder of a lock excludes shared and exclusive requests', async () => {
  const name = 'writer';
  const writer = await client.acquire({ name, mode: EXCLUSIVE, ttlMs: 20_000, holderId: 'writer' });
  for (const mode of [SHARED, EXCLUSIVE]) {
    const ending = await refusal(elsewhere.acquire({ name, mode, waitMs: 0 }));
    expect(ending).toMatchObject({ reason: 'CONTENDED', metadata: { holder_id: 'writer' } });
    expect(ending.text).toMatch(/^lock "writer" is held by writer for (19|20) s more; raise wait_timeout/);
  }
  expect(await client.get(name)).toMatchObject({ holderCount: 1, holders: [{ mode: EXCLUSIVE }] });
  await client.release(writer.leaseId);
  await read(elsewhere, name);
});

test.concurrent(
  'shared requests wait behind an exclusive waiter, and are then granted together',
  async () => {
    const name = 'in turn';
    const readers = [await read(client, name), await read(elsewhere, name)];
    const writing = elsewhere.acquire({ name, ttlMs: 20_000, waitMs: 20_000 });
    await untilWaiterCount(client, name, 1);
    expect((await refusal(read(client, name))).reason).toBe('CONTENDED');
    const late = [read(client, name, 20_000), read(elsewhere, name, 20_000)];
    await untilWaiterCount(client, name, 3);
    await client.release(readers[0]?.leaseId ?? '');
    expect(await client.get(name)).toMatchObject({ holderCount: 1, waiterCount: 3 });
    await client.release(readers[1]?.leaseId ?? '');
    const writer = await writing;
    expect(await client.get(name)).toMatchObject({
      holderCount: 1,
      waiterCount: 2,
      holders: [{ mode: EXCLUSIVE, fencingToken: writer.fencingToken }],
      waiters: [{ mode: SHARED }, { mode: SHARED }],
    });
    await client.release(writer.leaseId);
    for (const { fencingToken } of await Promise.all(late))
      expect(fencingToken).toBeGreaterThan(writer.fencingToken);
    expect((await client.get(name)).holderCount).toBe(2);
  },
);

test.concurrent(
  'a stream holds a shared lock, and a repeated request_id with another mode is refused',
  async () => {
    const name = 'streamed';
    const stream = client.hold({ name, mode: SHARED, ttlMs: 3000 });
    const { lease } = await stream.next('granted');
    const beside = elsewhere.hold({ name, mode: SHARED, ttlMs: 3000 });
    await beside.next('granted');
    const requestId = lease?.requestId ?? '';
    expect(await refusal(elsewhere.acquire({ name, requestId }))).toMatchObject({
      reason: 'REQUEST_MISMATCH',
      metadata: { field: 'mode' },
    });
    const writer = client.hold({ name, ttlMs: 3000 });
    expect((await writer.next('queued')).holder).toMatchObject({ mode: SHARED, permitCount: 1 });
    await client.release(lease?.leaseId ?? '');
    await stream.until('released');
    beside.cancel();
    // The cancelled stream keeps its lease for one ttl. Then the exclusive request is granted.
    await writer.until('granted');
    writer.cancel();
  },
);
