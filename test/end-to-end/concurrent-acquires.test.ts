import { LossCause } from '../../generated/typescript/holdfast/v1/lease';
import { refusal } from '../support/clients/calls';
import type { LockClient } from '../support/clients/lease-client';
import { ServerPair } from './server-pair';

/** Makes many attempts at the moment of expiry. Locks made of SETNX and GETSET fail then. */

const CALLERS = 40;
const LATE_TTL_MS = 300;

let pair: ServerPair;
let callers: LockClient[];

beforeAll(async () => {
  pair = await ServerPair.start();
  callers = Array.from({ length: CALLERS }, (_, i) => (i % 2 === 0 ? pair.first : pair.second).client());
  // The clients connect now, so that they can send their attempts at the same moment.
  await Promise.all(callers.map((caller) => caller.get('nothing')));
});

afterAll(() => pair?.close());

const [first, second] = [() => callers[0] as LockClient, () => callers[1] as LockClient];

/** Lets all callers try at the same time with wait_timeout 0, again and again until a grant. Returns the leases. */
async function acquireAtOnce(name: string) {
  for (;;) {
    const tries = callers.map((caller, index) =>
      caller.acquire({ name, ttlMs: 20_000, waitMs: 0, holderId: `caller ${index}` }),
    );
    const outcomes = await Promise.allSettled(tries);
    const leases = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    if (leases.length > 0) return leases;
  }
}

async function expectHeldBy(name: string, fencingToken: bigint): Promise<void> {
  const { holders } = await second().get(name);
  expect(holders.map((holder) => holder.fencingToken)).toEqual([fencingToken]);
}

test.concurrent('exactly one of 40 concurrent callers gets a free lock (chapter 25)', async () => {
  const leases = await acquireAtOnce('free');
  expect(leases).toHaveLength(1);
  await expectHeldBy('free', leases[0]?.fencingToken ?? 0n);
});

test.concurrent('exactly one of 40 concurrent callers gets an expired lock (chapter 15, 26)', async () => {
  const dead = await first().acquire({ name: 'dead', ttlMs: LATE_TTL_MS });
  const leases = await acquireAtOnce('dead');
  expect(leases).toHaveLength(1);
  const [{ fencingToken } = { fencingToken: 0n }] = leases;
  expect(fencingToken).toBeGreaterThan(dead.fencingToken);
  await expectHeldBy('dead', fencingToken);
});

test.concurrent('exactly one of 40 waiters gets an expired lock', async () => {
  const name = 'dead, with a queue';
  await first().acquire({ name, ttlMs: LATE_TTL_MS });
  const waits = callers.map((caller) => caller.acquire({ name, ttlMs: 20_000, waitMs: 3 * LATE_TTL_MS }));
  const outcomes = await Promise.allSettled(waits);
  const tokens = outcomes.flatMap((outcome) =>
    outcome.status === 'fulfilled' ? [outcome.value.fencingToken] : [],
  );
  expect(tokens).toHaveLength(1);
  await expectHeldBy(name, tokens[0] ?? 0n);
});

test.concurrent('refused callers do not change the lease of the holder (chapter 26)', async () => {
  const name = 'overwritten';
  const { leaseId } = await first().acquire({ name, ttlMs: 20_000, holderId: 'winner' });
  const before = await second().get(name);
  const losers = callers.map((caller) =>
    refusal(caller.acquire({ name, ttlMs: 60_000, waitMs: 0, metadata: { expires: '9999999999' } })),
  );
  for (const { reason } of await Promise.all(losers)) expect(reason).toBe('CONTENDED');
  expect(await second().get(name)).toEqual(before);
  expect((await second().release(leaseId)).released).toBe(true);
});

test.concurrent(
  'a late release of an expired lease frees no other lease and causes no second grant (chapter 13, 16, 26)',
  async () => {
    const name = 'slow';
    const slow = await first().acquire({ name, ttlMs: LATE_TTL_MS });
    const [winner, ...others] = await acquireAtOnce(name);
    expect(others).toEqual([]);
    const releases = callers.map((caller) => caller.release(slow.leaseId));
    const tries = callers.map((caller) => refusal(caller.acquire({ name, waitMs: 0 })));
    for (const answer of await Promise.all(releases)) {
      expect(answer).toEqual({ released: false, lossCause: LossCause.LOSS_CAUSE_EXPIRED });
    }
    for (const { reason } of await Promise.all(tries)) expect(reason).toBe('CONTENDED');
    // The server also refuses a renewal of the expired lease.
    expect((await refusal(second().renew(slow.leaseId))).reason).toBe('LEASE_NOT_HELD');
    await expectHeldBy(name, winner?.fencingToken ?? 0n);
  },
);
