import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { LossCause } from '../../../generated/typescript/holdfast/v1/lease';
import { SHORT_TTL_MS, SLOW_MS } from '../../end-to-end/in-process-server';
import { ServerPair, untilWaiterCount } from '../../end-to-end/server-pair';
import { refusal } from '../../support/clients/calls';
import { type LockClient, ms } from '../../support/clients/lease-client';
import { eventually, eventuallyPasses } from '../../support/eventually';

let pair: ServerPair;
let client: LockClient;
let elsewhere: LockClient;
beforeAll(async () => {
  pair = await ServerPair.start();
  client = pair.first.client();
  elsewhere = pair.second.client();
});
afterAll(() => pair?.close());

test.concurrent(
  'acquire lock a free lock is granted immediately, with every field of the lease',
  async () => {
    const requestId = randomUUID();
    const t0 = performance.now();
    const lease = await client.acquire({ name: 'free', ttlMs: 5000, requestId });
    const took = performance.now() - t0;
    expect(lease).toMatchObject({
      name: 'free',
      requestId,
      permitCount: 1,
      ttl: { seconds: 5n, nanos: 0 },
    });
    expect(lease.leaseId).toMatch(/^[A-Za-z0-9_-]{48,1024}$/);
    expect(lease.fencingToken).toBeGreaterThan(0n);
    expect(lease.fencingToken).toBeLessThan(2n ** 53n);
    expect(ms(lease.expireOffset)).toBeLessThan(5000 + took);
    expect(ms(lease.expireOffset)).toBeGreaterThan(4950);
  },
);

test.concurrent(
  'acquire lock a free lock is granted with the default ttl and a new request_id by default',
  async () => {
    const lease = await client.acquire({ name: 'defaults' });
    expect(ms(lease.ttl)).toBe(30_000);
    expect(lease.requestId).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    const again = await client.acquire({ name: 'defaults', requestId: lease.requestId });
    expect(again.leaseId).toBe(lease.leaseId);
  },
);

test.concurrent(
  'acquire lock a free lock is granted with wait_timeout 0, and each grant has a greater fencing token (chapter 28)',
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

test.concurrent(
  'acquire lock a held lock refuses a call with wait_timeout 0 immediately, with holder, waiter count and retry delay (chapter 28)',
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
      /^lock "held" is held by alice for (1\d|20) s more; raise wait_timeout to queue \[CONTENDED\]$/,
    );
    expect(ending.retryAfterMs).toBeGreaterThan(0);
    expect((await waiting).reason).toBe('CONTENDED');
  },
);

test.concurrent(
  'acquire lock a held lock ends the wait of a caller at its wait_timeout (chapter 17, 19)',
  async () => {
    await client.acquire({ name: 'patient', ttlMs: 20_000 });
    const stopwatch = pair.stopwatch();
    const ending = await refusal(client.acquire({ name: 'patient', waitMs: 400 }));
    expect(stopwatch.elapsedMs).toBeGreaterThanOrEqual(399);
    expect(stopwatch.chargedMs).toBeLessThan(400 + SLOW_MS);
    expect(ending).toMatchObject({ code: 'ABORTED', reason: 'CONTENDED' });
    expect((await client.get('patient')).waiterCount).toBe(0);
  },
);

test.concurrent.each([
  { deadlineMs: 300, marginMs: 30 },
  { deadlineMs: 1000, marginMs: 100 },
  { deadlineMs: 3000, marginMs: 250 },
])(
  'acquire lock a held lock ends the wait of a caller before its deadline of $deadlineMs ms',
  async ({ deadlineMs, marginMs }) => {
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
  },
);

test.concurrent(
  'acquire lock a held lock lets a caller without wait_timeout and deadline wait until the lock is free',
  async () => {
    const stopwatch = pair.stopwatch();
    const first = await client.acquire({ name: 'unbounded', ttlMs: 1200 });
    const second = await client.acquire({ name: 'unbounded', ttlMs: 1000 });
    expect(stopwatch.elapsedMs).toBeGreaterThan(1200);
    expect(stopwatch.chargedMs).toBeLessThan(1200 + SLOW_MS);
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
  },
);

test.concurrent(
  'acquire lock a held lock is granted to the next waiter at its release, with the full ttl (chapter 17)',
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

test.concurrent(
  'acquire lock a held lock is granted to waiters of both servers in the order of the queue',
  async () => {
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
  },
);

test.concurrent('acquire lock a held lock is not granted again to its own holder_id', async () => {
  await client.acquire({ name: 'again', ttlMs: 20_000, holderId: 'me' });
  const ending = await refusal(client.acquire({ name: 'again', holderId: 'me', waitMs: 0 }));
  expect(ending).toMatchObject({ reason: 'CONTENDED', metadata: { holder_id: 'me' } });
});

test.concurrent(
  'acquire lock the next waiter gets a lock when the ttl of its silent holder expires (chapter 14)',
  async () => {
    const stopwatch = pair.stopwatch();
    const first = await client.acquire({ name: 'silent', ttlMs: SHORT_TTL_MS });
    const second = await client.acquire({ name: 'silent', ttlMs: SHORT_TTL_MS, waitMs: 20_000 });
    expect(stopwatch.elapsedMs).toBeGreaterThan(ms(first.expireOffset));
    expect(stopwatch.chargedMs).toBeLessThan(SHORT_TTL_MS + SLOW_MS);
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
  },
);

describe('concurrent acquires', () => {
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
});

describe('request id', () => {
  test.concurrent(
    'AcquireLock with a repeated request_id answers with the same lease and its remaining time',
    async () => {
      const requestId = randomUUID();
      const t0 = performance.now();
      const first = await client.acquire({ name: 'same', ttlMs: 20_000, requestId });
      await sleep(200);
      for (const again of [client, elsewhere]) {
        const lease = await again.acquire({ name: 'same', ttlMs: 20_000, requestId });
        expect(lease.leaseId).toBe(first.leaseId);
        expect(lease.fencingToken).toBe(first.fencingToken);
        expect(ms(lease.expireOffset)).toBeLessThan(20_000 - 200);
        expect(ms(lease.expireOffset)).toBeGreaterThan(20_000 - 50 - (performance.now() - t0));
      }
    },
  );

  test.concurrent(
    'AcquireLock with a repeated request_id answers with the same lease even if ttl, wait_timeout and metadata differ',
    async () => {
      const requestId = randomUUID();
      const first = await client.acquire({ name: 'varied', ttlMs: 20_000, waitMs: 0, requestId });
      const wanted = { name: 'varied', ttlMs: 60_000, waitMs: 700, metadata: { other: 'pair' }, requestId };
      const again = await client.acquire(wanted);
      expect(again.leaseId).toBe(first.leaseId);
      expect(ms(again.expireOffset)).toBeLessThan(20_000);
    },
  );

  test.concurrent(
    'AcquireLock with a repeated request_id answers REQUEST_MISMATCH with the field holder_id for another holder_id',
    async () => {
      const requestId = randomUUID();
      await client.acquire({ name: 'mismatch', holderId: 'a', requestId });
      expect(await refusal(client.acquire({ name: 'mismatch', holderId: 'b', requestId }))).toMatchObject({
        code: 'INVALID_ARGUMENT',
        reason: 'REQUEST_MISMATCH',
        metadata: { field: 'holder_id' },
      });
    },
  );

  test.concurrent('AcquireLock with a repeated request_id is a new request if the name differs', async () => {
    const requestId = randomUUID();
    const first = await client.acquire({ name: 'scope 1', requestId });
    const second = await client.acquire({ name: 'scope 2', requestId });
    expect(second.leaseId).not.toBe(first.leaseId);
    expect((await client.release(first.leaseId)).released).toBe(true);
    expect((await client.get('scope 2')).holderCount).toBe(1);
  });

  test.concurrent(
    'AcquireLock with a repeated request_id keeps its place in the queue, and ends the older call with SUPERSEDED',
    async () => {
      const name = 'place';
      const holder = await client.acquire({ name, ttlMs: 20_000 });
      const requestId = randomUUID();
      const older = refusal(client.acquire({ name, ttlMs: 20_000, requestId }));
      await untilWaiterCount(client, name, 1);
      const later = elsewhere.acquire({ name, ttlMs: 20_000, requestId: randomUUID() });
      await untilWaiterCount(client, name, 2);
      const newer = elsewhere.acquire({ name, ttlMs: 20_000, requestId });
      expect(await older).toMatchObject({ code: 'ABORTED', reason: 'SUPERSEDED' });
      await client.release(holder.leaseId);
      const granted = await newer;
      expect((await client.get(name)).waiterCount).toBe(1);
      await client.release(granted.leaseId);
      expect((await later).fencingToken).toBeGreaterThan(granted.fencingToken);
    },
  );

  test.concurrent(
    'AcquireLock with a repeated request_id keeps its place when it waits again after CONTENDED',
    async () => {
      const name = 'place kept';
      const holder = await client.acquire({ name, ttlMs: 20_000 });
      const requestId = randomUUID();
      expect((await refusal(client.acquire({ name, waitMs: 300, requestId }))).reason).toBe('CONTENDED');
      const newcomer = elsewhere.acquire({ name, ttlMs: 20_000 });
      await untilWaiterCount(client, name, 1);
      const back = client.acquire({ name, ttlMs: 20_000, requestId });
      await untilWaiterCount(client, name, 2);
      await client.release(holder.leaseId);
      const lease = await back;
      await client.release(lease.leaseId);
      expect((await newcomer).fencingToken).toBeGreaterThan(lease.fencingToken);
    },
  );

  test.concurrent(
    'AcquireLock with a repeated request_id answers REQUEST_FINISHED after the release or expiry of its lease',
    async () => {
      const released = await client.acquire({ name: 'finished', ttlMs: 20_000 });
      await client.release(released.leaseId);
      const expired = await client.acquire({ name: 'finished', ttlMs: SHORT_TTL_MS });
      await eventually('the expiry', async () => (await client.get('finished')).holderCount === 0);
      for (const { requestId } of [released, expired]) {
        for (const waitMs of [0, 2000]) {
          const ending = await refusal(elsewhere.acquire({ name: 'finished', waitMs, requestId }));
          expect(ending).toMatchObject({ code: 'FAILED_PRECONDITION', reason: 'REQUEST_FINISHED' });
        }
      }
    },
  );

  const headers = { 'grpc-previous-rpc-attempts': '1' };

  test.concurrent(
    'a retry of the gRPC library is refused without a request_id, because the retry could wait behind its own first attempt',
    async () => {
      const ending = await refusal(client.acquire({ name: 'ghost' }, { headers }));
      expect(ending).toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'REQUEST_MISMATCH' });
      expect((await client.get('ghost')).holderCount).toBe(0);
    },
  );

  test.concurrent('a retry of the gRPC library is served with a request_id', async () => {
    const requestId = randomUUID();
    const first = await client.acquire({ name: 'retried', requestId });
    const second = await client.acquire({ name: 'retried', requestId }, { headers });
    expect(second.leaseId).toBe(first.leaseId);
  });
});
