import { LossCause } from '../../../generated/typescript/holdfast/v1/lease';
import { SLOW_MS } from '../../end-to-end/in-process-server';
import { ServerPair, untilWaiterCount } from '../../end-to-end/server-pair';
import { refusal } from '../../support/clients/calls';
import type { SemaphoreClient } from '../../support/clients/lease-client';

const NO_SUCH = { code: 'NOT_FOUND', reason: 'NO_SUCH_SEMAPHORE' };

let pair: ServerPair;
let client: SemaphoreClient;
let elsewhere: SemaphoreClient;

beforeAll(async () => {
  pair = await ServerPair.start();
  client = pair.first.semaphores();
  elsewhere = pair.second.semaphores();
});

afterAll(() => pair?.close());

test.concurrent(
  'a semaphore that does not exist answers NO_SUCH_SEMAPHORE to every call that needs it',
  async () => {
    const name = 'nobody made';
    const toAcquire = 'set its limit, or acquire with initial_limit';
    const endings = [
      [await refusal(client.acquire({ name })), toAcquire],
      [await client.hold({ name }).ending, toAcquire],
      [await refusal(client.get(name)), toAcquire],
      [await refusal(client.setLimit(name, 5, 4)), 'leave expected_limit unset to create it'],
      [await refusal(client.delete(name)), 'there is nothing to delete'],
      [await refusal(client.delete(name, true)), 'there is nothing to delete'],
    ] as const;
    for (const [ending, advice] of endings) {
      expect(ending).toMatchObject(NO_SUCH);
      expect(ending.text).toBe(`semaphore "nobody made" does not exist; ${advice} [NO_SUCH_SEMAPHORE]`);
    }
  },
);

test.concurrent(
  'a semaphore that does not exist is created with the first initial_limit, and a later initial_limit is ignored',
  async () => {
    const name = 'constants';
    await client.acquire({ name, ttlMs: 20_000, initialLimit: 2 });
    await elsewhere.acquire({ name, ttlMs: 20_000, initialLimit: 50 });
    expect((await refusal(elsewhere.acquire({ name, waitMs: 0, initialLimit: 50 }))).reason).toBe(
      'CONTENDED',
    );
    expect(await client.get(name)).toMatchObject({ limit: 2, usedCount: 2 });
    const never = { name, permitCount: 3, initialLimit: 50 };
    expect((await refusal(elsewhere.acquire(never))).reason).toBe('NEVER_FITS');
  },
);

test.concurrent(
  'the limit of a semaphore refuses a larger permit_count immediately with NEVER_FITS and both numbers',
  async () => {
    const name = 'too small';
    await client.setLimit(name, 4);
    const stopwatch = pair.stopwatch();
    const asked = { name, permitCount: 5, waitMs: 20_000 };
    const endings = [await refusal(client.acquire(asked)), await client.hold(asked).ending];
    expect(stopwatch.chargedMs).toBeLessThan(2 * SLOW_MS);
    for (const ending of endings) {
      expect(ending).toMatchObject({
        code: 'FAILED_PRECONDITION',
        reason: 'NEVER_FITS',
        metadata: { limit: '4', permit_count: '5' },
        text: '5 permits never fit semaphore "too small": its limit is 4; ask for fewer permits or raise the limit [NEVER_FITS]',
      });
    }
  },
);

test.concurrent(
  'the limit of a semaphore grants waiters of both servers immediately when raised',
  async () => {
    const name = 'raised';
    await client.setLimit(name, 2);
    await client.acquire({ name, ttlMs: 60_000, permitCount: 2 });
    const stream = elsewhere.hold({ name, ttlMs: 20_000 });
    await stream.next('queued');
    const unary = client.acquire({ name, permitCount: 2, ttlMs: 20_000, waitMs: 20_000 });
    await untilWaiterCount(client, name, 2);
    const stopwatch = pair.stopwatch();
    expect(await client.setLimit(name, 5, 2)).toMatchObject({
      limit: 5,
      usedCount: 5,
      overcommittedCount: 0,
    });
    const { lease } = await stream.next('granted');
    expect((await unary).fencingToken).toBeGreaterThan(lease?.fencingToken ?? 0n);
    expect(stopwatch.chargedMs).toBeLessThan(SLOW_MS);
    stream.cancel();
  },
);

test.concurrent(
  'the limit of a semaphore takes no permit from holders when lowered, and ends the waits that can never fit',
  async () => {
    const name = 'lowered';
    await client.setLimit(name, 5);
    const held = await client.acquire({ name, ttlMs: 20_000, permitCount: 5 });
    const unary = refusal(elsewhere.acquire({ name, permitCount: 4, waitMs: 20_000 }));
    await untilWaiterCount(client, name, 1);
    const stream = elsewhere.hold({ name, permitCount: 3 });
    await stream.next('queued');
    const fits = client.acquire({ name, permitCount: 2, ttlMs: 20_000, waitMs: 20_000 });
    await untilWaiterCount(client, name, 3);
    const stopwatch = pair.stopwatch();
    expect(await client.setLimit(name, 2)).toMatchObject({ limit: 2, usedCount: 5, overcommittedCount: 3 });
    const endings = [await unary, await stream.ending];
    expect(stopwatch.chargedMs).toBeLessThan(SLOW_MS);
    for (const [index, ending] of endings.entries()) {
      expect(ending).toMatchObject({ code: 'FAILED_PRECONDITION', reason: 'NEVER_FITS' });
      expect(ending.metadata).toEqual({ limit: '2', permit_count: String(4 - index) });
    }
    expect((await refusal(client.acquire({ name, waitMs: 0 }))).text).toMatch(
      /^semaphore "lowered" has 5 permits taken for (1\d|20) s more, over its limit of 2, with 1 waiting; /,
    );
    await client.renew(held.leaseId);
    await client.release(held.leaseId);
    expect((await fits).permitCount).toBe(2);
  },
);

test.concurrent('the limit of a semaphore pauses grants but not renewals while the limit is 0', async () => {
  const name = 'paused';
  const held = await client.acquire({ name, ttlMs: 20_000, initialLimit: 3 });
  expect(await client.setLimit(name, 0)).toMatchObject({ limit: 0, usedCount: 1, overcommittedCount: 1 });
  await client.renew(held.leaseId);
  expect(await refusal(elsewhere.acquire({ name, waitMs: 0 }))).toMatchObject({
    reason: 'CONTENDED',
    retryAfterMs: 5000,
    text: 'semaphore "paused" is paused by its limit of 0; raise wait_timeout to queue [CONTENDED]',
  });
  // A later limit may fit any permit_count, so no wait ends with NEVER_FITS.
  const stream = elsewhere.hold({ name, permitCount: 7 });
  expect(await stream.next('queued')).toMatchObject({ position: 1, waiterCount: 1 });
  await client.release(held.leaseId);
  const after = client.acquire({ name, ttlMs: 20_000, waitMs: 20_000 });
  await untilWaiterCount(client, name, 2);
  expect(await client.get(name)).toMatchObject({ usedCount: 0, overcommittedCount: 0, waiterCount: 2 });
  await elsewhere.setLimit(name, 8);
  expect((await stream.until('granted')).lease?.permitCount).toBe(7);
  expect((await after).permitCount).toBe(1);
  stream.cancel();
});

test.concurrent(
  'the limit of a semaphore is not changed by a wrong expected_limit, and the error LIMIT_MISMATCH has both numbers',
  async () => {
    const name = 'expected';
    await client.setLimit(name, 3);
    expect(await refusal(elsewhere.setLimit(name, 9, 4))).toMatchObject({
      code: 'FAILED_PRECONDITION',
      reason: 'LIMIT_MISMATCH',
      metadata: { limit: '3', expected_limit: '4' },
      text: 'the limit of semaphore "expected" is 3, not 4: nothing was changed; check the limit and try again [LIMIT_MISMATCH]',
    });
    expect((await client.get(name)).limit).toBe(3);
    for (let time = 0; time < 2; time += 1) expect((await elsewhere.setLimit(name, 9, 3)).limit).toBe(9);
  },
);

test.concurrent(
  'the pause of a semaphore lets waiters wait and holders renew, until another server brings the limit back',
  async () => {
    const name = 'resumed elsewhere';
    await client.setLimit(name, 2);
    const held = await client.acquire({ name, ttlMs: 20_000 });
    expect(await client.setPaused(name, true, 2)).toMatchObject({
      limit: 0,
      keptLimit: 2,
      usedCount: 1,
      overcommittedCount: 1,
    });
    expect(await refusal(elsewhere.acquire({ name, waitMs: 0 }))).toMatchObject({ reason: 'CONTENDED' });
    const stream = elsewhere.hold({ name, ttlMs: 20_000 });
    await stream.next('queued');
    const later = client.acquire({ name, ttlMs: 20_000, waitMs: 20_000 });
    await untilWaiterCount(client, name, 2);
    await client.renew(held.leaseId);
    await client.release(held.leaseId);
    expect(await elsewhere.get(name)).toMatchObject({ keptLimit: 2, usedCount: 0, waiterCount: 2 });
    expect(await elsewhere.setPaused(name, false)).toMatchObject({ limit: 2, keptLimit: 0, usedCount: 2 });
    const { lease } = await stream.until('granted');
    expect((await later).fencingToken).toBeGreaterThan(lease?.fencingToken ?? 0n);
    stream.cancel();
  },
);

test.concurrent(
  'the pause of a semaphore has one order with changes of the limit, and keeps no older limit',
  async () => {
    const name = 'paused and changed';
    const outcomes = [
      { limit: 5, keptLimit: 0 },
      { limit: 0, keptLimit: 5 },
    ];
    for (let round = 0; round < 20; round += 1) {
      await client.setLimit(name, 3);
      await Promise.all([client.setPaused(name, true), elsewhere.setLimit(name, 5)]);
      const { limit, keptLimit } = await client.get(name);
      expect(outcomes).toContainEqual({ limit, keptLimit });
      await client.setLimit(name, 3);
      const pauses = [client, elsewhere, client].map((one) => one.setPaused(name, true));
      await Promise.all(pauses);
      await Promise.all([client.setPaused(name, false), elsewhere.setPaused(name, false)]);
      expect(await elsewhere.get(name)).toMatchObject({ limit: 3, keptLimit: 0 });
      await client.setPaused(name, true);
      await Promise.all([client.setPaused(name, false), elsewhere.setLimit(name, 7)]);
      expect(await client.get(name)).toMatchObject({ limit: 7, keptLimit: 0 });
    }
  },
);

test.concurrent(
  'the pause of a semaphore is a change for watches, also when only the kept limit changes',
  async () => {
    const name = 'watched pause';
    await client.setLimit(name, 2);
    const watch = elsewhere.watch(name);
    expect(await watch.next()).toMatchObject({ limit: 2, keptLimit: 0 });
    await client.setPaused(name, true);
    expect(await watch.next()).toMatchObject({ limit: 0, keptLimit: 2 });
    await client.setLimit(name, 0);
    expect(await watch.next()).toMatchObject({ limit: 0, keptLimit: 0 });
    watch.cancel();
  },
);

test.concurrent(
  'the pause of a semaphore needs a semaphore, and a limit above 0 or a kept limit',
  async () => {
    for (const paused of [true, false]) {
      expect(await refusal(client.setPaused('nobody made', paused))).toMatchObject(NO_SUCH);
    }
    const name = 'limit of 0';
    await client.setLimit(name, 0);
    const ending = { code: 'FAILED_PRECONDITION', reason: 'LIMIT_MISMATCH', metadata: { limit: '0' } };
    expect(await refusal(elsewhere.setPaused(name, true))).toMatchObject({
      ...ending,
      text: 'semaphore "limit of 0" already has the limit 0, and no limit to keep: nothing was changed; set a limit before the pause [LIMIT_MISMATCH]',
    });
    expect(await refusal(elsewhere.setPaused(name, false))).toMatchObject({
      ...ending,
      text: 'semaphore "limit of 0" has the limit 0, and no kept limit to bring back: nothing was changed; set a limit [LIMIT_MISMATCH]',
    });
    expect(await client.get(name)).toMatchObject({ limit: 0, keptLimit: 0 });
  },
);

test.concurrent(
  'DeleteSemaphore answers SEMAPHORE_IN_USE for a semaphore in use, and changes nothing',
  async () => {
    const name = 'in use';
    const held = await client.acquire({ name, ttlMs: 20_000, initialLimit: 1 });
    const waiting = elsewhere.acquire({ name, ttlMs: 20_000, waitMs: 20_000 });
    await untilWaiterCount(client, name, 1);
    expect(await refusal(client.delete(name))).toMatchObject({
      code: 'FAILED_PRECONDITION',
      reason: 'SEMAPHORE_IN_USE',
      metadata: { holder_count: '1', waiter_count: '1' },
    });
    await client.release(held.leaseId);
    await client.release((await waiting).leaseId);
    await client.delete(name);
    await elsewhere.delete(name);
    expect(await refusal(client.get(name))).toMatchObject(NO_SUCH);
  },
);

test.concurrent(
  'DeleteSemaphore with force ends waits with NO_SUCH_SEMAPHORE and hold streams with REVOKED immediately',
  async () => {
    const name = 'forced';
    await client.setLimit(name, 2);
    const held = await client.acquire({ name, ttlMs: 60_000 });
    const holding = elsewhere.hold({ name, ttlMs: 60_000 });
    const { lease } = await holding.next('granted');
    const unary = refusal(client.acquire({ name, waitMs: 20_000, initialLimit: 9 }));
    await untilWaiterCount(client, name, 1);
    const queued = elsewhere.hold({ name, initialLimit: 9 });
    await queued.next('queued');
    const stopwatch = pair.stopwatch();
    await client.delete(name, true);
    expect(await unary).toMatchObject(NO_SUCH);
    expect(await queued.ending).toMatchObject(NO_SUCH);
    expect(await holding.until('lost')).toEqual({ cause: LossCause.LOSS_CAUSE_REVOKED });
    expect(stopwatch.chargedMs).toBeLessThan(SLOW_MS);
    expect(await holding.ending).toMatchObject({
      code: 'ABORTED',
      reason: 'LEASE_LOST',
      metadata: { cause: 'REVOKED' },
      text: 'the lease on semaphore "forced" is lost: it was revoked; stop the work that it protects [LEASE_LOST]',
    });
    expect(await refusal(client.renew(held.leaseId))).toMatchObject({
      code: 'NOT_FOUND',
      reason: 'LEASE_NOT_HELD',
      metadata: { cause: 'REVOKED' },
    });
    expect(await client.release(held.leaseId)).toEqual({
      released: false,
      lossCause: LossCause.LOSS_CAUSE_REVOKED,
    });
    // A retry of the holder's request does not create the semaphore again.
    const { requestId } = held;
    expect((await refusal(client.acquire({ name, requestId, initialLimit: 9 }))).reason).toBe(
      'REQUEST_FINISHED',
    );
    expect(await refusal(client.get(name))).toMatchObject(NO_SUCH);
    const anew = await client.acquire({ name, initialLimit: 1, waitMs: 0 });
    expect(anew.fencingToken).toBeGreaterThan(lease?.fencingToken ?? 0n);
  },
);
