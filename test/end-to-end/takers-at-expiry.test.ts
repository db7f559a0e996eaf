import { LossCause } from '../../generated/typescript/holdfast/v1/lease';
import { refusal } from '../support/clients/call-ending';
import type { LockClient } from '../support/clients/lock-client';
import { RedisProcess } from '../support/processes/redis-process';
import { InProcessServer } from './in-process-server';

/** The faults of locks made by hand with SETNX and GETSET, which many takers at one moment would bring about. */

const TAKERS = 40;
const LATE_TTL_MS = 300;

let redis: RedisProcess;
let servers: InProcessServer[];
let takers: LockClient[];

beforeAll(async () => {
  redis = await RedisProcess.start();
  servers = await Promise.all([InProcessServer.start(redis.url), InProcessServer.start(redis.url)]);
  takers = Array.from({ length: TAKERS }, (_, index) => (servers[index % 2] as InProcessServer).client());
  // Connected, they can all ask in one moment.
  await Promise.all(takers.map((taker) => taker.get('nothing')));
});

afterAll(async () => {
  await Promise.all((servers ?? []).map((server) => server.close()));
  await redis?.close();
});

const [first, second] = [() => takers[0] as LockClient, () => takers[1] as LockClient];

/** All ask at once, without waiting, and again until one of them was granted; the leases of that round. */
async function takeAtOnce(name: string) {
  for (;;) {
    const tries = takers.map((taker, index) =>
      taker.acquire({ name, ttlMs: 20_000, waitMs: 0, holderId: `taker ${index}` }),
    );
    const outcomes = await Promise.allSettled(tries);
    const leases = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    if (leases.length > 0) return leases;
  }
}

async function expectHeldBy(name: string, fencingToken: bigint): Promise<void> {
  const { holders } = await second().get(name);
  expect(holders.map((holder) => holder.fencingToken)).toEqual([fencingToken]);
}

test.concurrent(
  'of many who ask for a free lock in one moment exactly one is granted (chapter 25)',
  async () => {
    const leases = await takeAtOnce('free');
    expect(leases).toHaveLength(1);
    await expectHeldBy('free', leases[0]?.fencingToken ?? 0n);
  },
);

test.concurrent(
  'at the end of a holder that is dead exactly one of many takers is granted (chapter 15, 26)',
  async () => {
    const dead = await first().acquire({ name: 'dead', ttlMs: LATE_TTL_MS });
    const leases = await takeAtOnce('dead');
    expect(leases).toHaveLength(1);
    const [{ fencingToken } = { fencingToken: 0n }] = leases;
    expect(fencingToken).toBeGreaterThan(dead.fencingToken);
    await expectHeldBy('dead', fencingToken);
  },
);

test.concurrent('of takers who wait there too the first in line is granted, and no other', async () => {
  const name = 'dead, with a queue';
  await first().acquire({ name, ttlMs: LATE_TTL_MS });
  const waits = takers.map((taker) => taker.acquire({ name, ttlMs: 20_000, waitMs: 3 * LATE_TTL_MS }));
  const outcomes = await Promise.allSettled(waits);
  const tokens = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value.fencingToken] : []));
  expect(tokens).toHaveLength(1);
  await expectHeldBy(name, tokens[0] ?? 0n);
});

test.concurrent(
  'the takers who lose move nothing of the lease of the one who wins (chapter 26)',
  async () => {
    const name = 'overwritten';
    const { leaseId } = await first().acquire({ name, ttlMs: 20_000, holderId: 'winner' });
    const before = await second().get(name);
    const losers = takers.map((taker) =>
      refusal(taker.acquire({ name, ttlMs: 60_000, waitMs: 0, metadata: { expires: '9999999999' } })),
    );
    for (const { reason } of await Promise.all(losers)) expect(reason).toBe('CONTENDED');
    expect(await second().get(name)).toEqual(before);
    expect((await second().release(leaseId)).released).toBe(true);
  },
);

test.concurrent(
  'a slow holder that releases among the takers at its end frees nobody and lets no second one in (chapter 13, 16, 26)',
  async () => {
    const name = 'slow';
    const slow = await first().acquire({ name, ttlMs: LATE_TTL_MS });
    const [winner, ...others] = await takeAtOnce(name);
    expect(others).toEqual([]);
    const releases = takers.map((taker) => taker.release(slow.leaseId));
    const tries = takers.map((taker) => refusal(taker.acquire({ name, waitMs: 0 })));
    for (const answer of await Promise.all(releases)) {
      expect(answer).toEqual({ released: false, lossCause: LossCause.LOSS_CAUSE_EXPIRED });
    }
    for (const { reason } of await Promise.all(tries)) expect(reason).toBe('CONTENDED');
    // It would not renew either what is not its own any more.
    expect((await refusal(second().renew(slow.leaseId))).reason).toBe('LEASE_NOT_HELD');
    await expectHeldBy(name, winner?.fencingToken ?? 0n);
  },
);
