import { setTimeout as sleep } from 'node:timers/promises';
import { type Lease, LockMode, LossCause } from '../../../generated/typescript/holdfast/v1/lease';
import { SHORT_TTL_MS } from '../../end-to-end/in-process-server';
import { ServerPair, untilWaiterCount } from '../../end-to-end/server-pair';
import { refusal } from '../../support/clients/calls';
import { type LockClient, ms } from '../../support/clients/lease-client';
import { eventually } from '../../support/eventually';

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

async function isFree(name: string): Promise<void> {
  await eventually(`${name} to be free`, async () => (await client.get(name)).holderCount === 0);
}

/** Changes the lease_id into a well-formed lease_id of a lease that never existed. */
function neverGiven(leaseId: string): string {
  const bytes = Buffer.from(leaseId, 'base64url');
  bytes[20] = (bytes[20] ?? 0) ^ 0xff;
  return bytes.toString('base64url');
}

test.concurrent('RenewLock moves the end of the lease to one ttl from now', async () => {
  const first = await client.acquire({ name: 'renewed', ttlMs: 1500 });
  for (let round = 0; round < 4; round += 1) {
    await sleep(500);
    const lease = await client.renew(first.leaseId);
    expect(lease).toMatchObject({
      leaseId: first.leaseId,
      name: 'renewed',
      requestId: first.requestId,
      fencingToken: first.fencingToken,
      permitCount: 1,
    });
    expect(ms(lease.ttl)).toBe(1500);
    expect(ms(lease.expireOffset)).toBeGreaterThan(1490);
  }
  expect((await client.get('renewed')).holders[0]?.fencingToken).toBe(first.fencingToken);
});

test.concurrent('RenewLock does not move the end of the lease to an earlier time', async () => {
  const first = await client.acquire({ name: 'shorter', ttlMs: 20_000 });
  const lease = await client.renew(first.leaseId, 200);
  expect(ms(lease.expireOffset)).toBeGreaterThan(10_000);
  expect(ms(lease.ttl)).toBe(20_000);
});

test.concurrent('RenewLock with a longer ttl changes the ttl of the lease', async () => {
  const first = await client.acquire({ name: 'longer', ttlMs: 4000 });
  expect(ms((await client.renew(first.leaseId, 8000)).ttl)).toBe(8000);
  const lease = await client.renew(first.leaseId);
  expect(ms(lease.ttl)).toBe(8000);
  expect(ms(lease.expireOffset)).toBeGreaterThan(7800);
});

test.concurrent(
  'RenewLock answers LEASE_NOT_HELD with the cause for an ended lease, and does not restore it',
  async () => {
    const released = await client.acquire({ name: 'ended', ttlMs: 5000 });
    await client.release(released.leaseId);
    expect(await refusal(client.renew(released.leaseId))).toMatchObject({
      code: 'NOT_FOUND',
      reason: 'LEASE_NOT_HELD',
      metadata: { cause: 'RELEASED' },
    });
    const expired = await client.acquire({ name: 'ended', ttlMs: SHORT_TTL_MS });
    await isFree('ended');
    expect(await refusal(client.renew(expired.leaseId))).toMatchObject({
      code: 'NOT_FOUND',
      reason: 'LEASE_NOT_HELD',
      metadata: { cause: 'EXPIRED' },
    });
    expect((await client.get('ended')).holderCount).toBe(0);
  },
);

test.concurrent(
  'RenewLock answers LEASE_NOT_HELD without a cause for a lease that never existed',
  async () => {
    const { leaseId } = await client.acquire({ name: 'never', ttlMs: 5000 });
    const ending = await refusal(client.renew(neverGiven(leaseId)));
    expect(ending).toMatchObject({ code: 'NOT_FOUND', reason: 'LEASE_NOT_HELD', metadata: {} });
    expect(ending.metadata).not.toHaveProperty('cause');
  },
);

test.concurrent(
  'ReleaseLock releases the lock, and answers a retry in the same way (chapter 20)',
  async () => {
    const { leaseId } = await client.acquire({ name: 'given back', ttlMs: 20_000 });
    const unspecified = LossCause.LOSS_CAUSE_UNSPECIFIED;
    for (let time = 0; time < 3; time += 1) {
      expect(await client.release(leaseId)).toEqual({ released: true, lossCause: unspecified });
    }
    expect((await client.get('given back')).holderCount).toBe(0);
  },
);

test.concurrent(
  'ReleaseLock answers with released false and the cause for an expired lease, and frees no other lease (chapter 13, 20)',
  async () => {
    const { leaseId } = await client.acquire({ name: 'too late', ttlMs: SHORT_TTL_MS });
    const next = await client.acquire({ name: 'too late', ttlMs: 20_000, waitMs: 20_000 });
    const expired = LossCause.LOSS_CAUSE_EXPIRED;
    for (let time = 0; time < 2; time += 1) {
      expect(await client.release(leaseId)).toEqual({ released: false, lossCause: expired });
    }
    expect((await client.get('too late')).holders[0]?.fencingToken).toBe(next.fencingToken);
  },
);

test.concurrent(
  'ReleaseLock answers with released false and no cause for a lease that never existed (chapter 18)',
  async () => {
    const { leaseId } = await client.acquire({ name: 'guessed', ttlMs: 20_000 });
    expect(await client.release(neverGiven(leaseId))).toEqual({
      released: false,
      lossCause: LossCause.LOSS_CAUSE_UNSPECIFIED,
    });
    expect((await client.get('guessed')).holderCount).toBe(1);
  },
);

test.concurrent('GetLock shows an unused name as a free lock', async () => {
  expect(await client.get('never used')).toEqual({
    name: 'never used',
    lastFencingToken: 0n,
    holderCount: 0,
    waiterCount: 0,
    holders: [],
    waiters: [],
  });
});

test.concurrent('GetLock shows holders and waiters, without lease_id and request_id', async () => {
  const name = 'looked at';
  const about = { address: '10.0.0.1:80', __proto__x: 'y' };
  const lease = await client.acquire({ name, ttlMs: 20_000, holderId: 'alice', metadata: about });
  const started = Date.now();
  const waits = ['bob', 'carol'].map(async (holderId, index) => {
    await sleep(index * 100);
    return refusal(client.acquire({ name, waitMs: 1000, holderId, metadata: { holder: holderId } }));
  });
  const lock = await eventually('two waiters', async () => {
    const seen = await client.get(name);
    return seen.waiterCount === 2 && seen;
  });
  expect(lock).toMatchObject({ name, holderCount: 1, lastFencingToken: lease.fencingToken });
  const [holder] = lock.holders;
  expect(holder).toMatchObject({
    holderId: 'alice',
    metadata: new Map(Object.entries(about)),
    fencingToken: lease.fencingToken,
    permitCount: 1,
    mode: LockMode.LOCK_MODE_EXCLUSIVE,
    revoked: false,
  });
  const instant = (time: { seconds: bigint; nanos: number } | undefined): number =>
    Number(time?.seconds) * 1000 + Number(time?.nanos) / 1e6;
  expect(Math.abs(instant(holder?.acquireTime) - started)).toBeLessThan(1000);
  expect(instant(holder?.expireTime) - instant(holder?.acquireTime)).toBeCloseTo(20_000, -1);
  expect(lock.waiters).toMatchObject([
    { holderId: 'bob', metadata: new Map([['holder', 'bob']]), position: 1, permitCount: 1 },
    { holderId: 'carol', metadata: new Map([['holder', 'carol']]), position: 2, permitCount: 1 },
  ]);
  const [bob, carol] = lock.waiters;
  expect(instant(carol?.enqueueTime)).toBeGreaterThan(instant(bob?.enqueueTime));
  const shown = JSON.stringify(lock, (_key, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value instanceof Map ? [...value] : value,
  );
  expect(shown).not.toContain(lease.requestId);
  expect(shown).not.toContain(lease.leaseId);
  await Promise.all(waits);
});

test.concurrent('GetLock shows no holder after the expiry, and the last fencing token', async () => {
  const { fencingToken } = await client.acquire({ name: 'left', ttlMs: SHORT_TTL_MS });
  await sleep(SHORT_TTL_MS + 20);
  expect(await client.get('left')).toMatchObject({
    holderCount: 0,
    holders: [],
    lastFencingToken: fencingToken,
  });
});

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
