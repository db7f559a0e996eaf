import { setTimeout as sleep } from 'node:timers/promises';
import { LockMode, LossCause } from '../../generated/typescript/holdfast/v1/lease';
import { closeAll, eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { InProcessServer, SHORT_TTL_MS } from './in-process-server';
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

async function isFree(name: string): Promise<void> {
  await eventually(`${name} to be free`, async () => (await client.get(name)).holderCount === 0);
}

/** Changes the lease_id into a well-formed lease_id of a lease that never existed. */
function neverGiven(leaseId: string): string {
  const bytes = Buffer.from(leaseId, 'base64url');
  bytes[20] = (bytes[20] ?? 0) ^ 0xff;
  return bytes.toString('base64url');
}

describe('RenewLock', () => {
  test.concurrent('moves the end of the lease to one ttl from now', async () => {
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

  test.concurrent('does not move the end of the lease to an earlier time', async () => {
    const first = await client.acquire({ name: 'shorter', ttlMs: 5000 });
    const lease = await client.renew(first.leaseId, 200);
    expect(ms(lease.expireOffset)).toBeGreaterThan(4500);
    expect(ms(lease.ttl)).toBe(5000);
  });

  test.concurrent('with a longer ttl changes the ttl of the lease', async () => {
    const first = await client.acquire({ name: 'longer', ttlMs: 4000 });
    expect(ms((await client.renew(first.leaseId, 8000)).ttl)).toBe(8000);
    const lease = await client.renew(first.leaseId);
    expect(ms(lease.ttl)).toBe(8000);
    expect(ms(lease.expireOffset)).toBeGreaterThan(7800);
  });

  test.concurrent(
    'answers LEASE_NOT_HELD with the cause for an ended lease, and does not restore it',
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

  test.concurrent('answers LEASE_NOT_HELD without a cause for a lease that never existed', async () => {
    const { leaseId } = await client.acquire({ name: 'never', ttlMs: 5000 });
    const ending = await refusal(client.renew(neverGiven(leaseId)));
    expect(ending).toMatchObject({ code: 'NOT_FOUND', reason: 'LEASE_NOT_HELD', metadata: {} });
    expect(ending.metadata).not.toHaveProperty('cause');
  });
});

describe('ReleaseLock', () => {
  test.concurrent('releases the lock, and answers a retry in the same way (chapter 20)', async () => {
    const { leaseId } = await client.acquire({ name: 'given back', ttlMs: 20_000 });
    const unspecified = LossCause.LOSS_CAUSE_UNSPECIFIED;
    for (let time = 0; time < 3; time += 1) {
      expect(await client.release(leaseId)).toEqual({ released: true, lossCause: unspecified });
    }
    expect((await client.get('given back')).holderCount).toBe(0);
  });

  test.concurrent(
    'answers with released false and the cause for an expired lease, and frees no other lease (chapter 13, 20)',
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
    'answers with released false and no cause for a lease that never existed (chapter 18)',
    async () => {
      const { leaseId } = await client.acquire({ name: 'guessed', ttlMs: 20_000 });
      expect(await client.release(neverGiven(leaseId))).toEqual({
        released: false,
        lossCause: LossCause.LOSS_CAUSE_UNSPECIFIED,
      });
      expect((await client.get('guessed')).holderCount).toBe(1);
    },
  );
});

describe('GetLock', () => {
  test.concurrent('shows an unused name as a free lock', async () => {
    expect(await client.get('never used')).toEqual({
      name: 'never used',
      lastFencingToken: 0n,
      holderCount: 0,
      waiterCount: 0,
      holders: [],
      waiters: [],
    });
  });

  test.concurrent('shows holders and waiters, without lease_id and request_id', async () => {
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

  test.concurrent('shows no holder after the expiry, and the last fencing token', async () => {
    const { fencingToken } = await client.acquire({ name: 'left', ttlMs: SHORT_TTL_MS });
    await sleep(SHORT_TTL_MS + 20);
    expect(await client.get('left')).toMatchObject({
      holderCount: 0,
      holders: [],
      lastFencingToken: fencingToken,
    });
  });
});
