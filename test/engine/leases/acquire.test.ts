import { decodeLeaseId } from '../../../src/engine/leases/lease-id';
import { LOCK_LIMIT } from '../../../src/engine/leases/limits';
import type { AcquireReply } from '../../../src/engine/leases/permits-store';
import { EngineFixture, letWait } from '../../support/engine-fixture';
import { ALICE } from '../../support/fake-call';
import { grantedAt, NOBODY } from '../../support/fake-store';

const RHO = 0.0005;
const HELD_BY_BOB = {
  earliestEndMs: 21_000,
  waiterCount: 2,
  holder: {
    holderId: 'bob',
    metadata: {},
    fencingToken: 5n,
    permitCount: LOCK_LIMIT,
    mode: 'exclusive' as const,
    acquireTimeMs: 0,
    expireTimeMs: 0,
    revoked: false,
  },
  holderEndMs: 21_000,
  limit: LOCK_LIMIT,
  usedCount: LOCK_LIMIT,
};

describe('an acquire', () => {
  let on: EngineFixture;
  beforeEach(() => {
    on = EngineFixture.onFakeStore();
  });

  it('that is granted at once gives the lease, its id, and an offset counted from the call', async () => {
    const pending = on.acquire({ name: 'a/ü' });
    await on.clock.advance(40); // the event loop was busy: the command leaves with the handler, its answer is late
    const sent = await on.store.next('acquire');
    await sent.answer(
      grantedAt(sent.at, { fencingToken: 9n, remainingMs: 20_000, ttlMs: 30_000, permits: LOCK_LIMIT }),
    );
    const lease = pending.value;
    expect(lease).toMatchObject({
      name: 'a/ü',
      requestId: ALICE,
      fencingToken: 9n,
      permitCount: 1,
      ttlMs: 30_000,
    });
    expect(lease.expireOffsetMs).toBeCloseTo((sent.at - pending.call.receivedAt + 20_000) * (1 - RHO), 6);
    expect(decodeLeaseId('lock', lease.leaseId)).toMatchObject({
      resource: { service: 'lock', name: 'a/ü' },
      requestId: ALICE,
      secret: 'AAAAAAAAAAAAAAAAAAAAAA',
    });
    on.expectRest();
  });

  it('asks for all of a lock, for one of a shared lock, and for what it says of a semaphore', async () => {
    on.acquire();
    expect((await on.store.next('acquire')).command).toMatchObject({
      permits: LOCK_LIMIT,
      initialLimit: LOCK_LIMIT,
    });
    on.acquire({ mode: 'shared' });
    expect((await on.store.next('acquire')).command).toMatchObject({ permits: 1, mode: 'shared' });
    const semaphore = on.acquire({ permitCount: 3 }, {}, 'semaphore');
    const sent = await on.store.next('acquire');
    expect(sent.command).toMatchObject({ permits: 3, initialLimit: undefined });
    await sent.answer(grantedAt(sent.at, { permits: 3 }));
    expect(semaphore.value.permitCount).toBe(3);
  });

  it('without a request id gets one, and every call speaks by a value of its own', async () => {
    const pending = on.acquire({ requestId: undefined });
    const first = await on.store.next('acquire');
    await first.answer(grantedAt(first.at));
    expect(pending.value.requestId).toBe(first.command.requestId);
    on.acquire({ requestId: undefined });
    on.hold();
    const second = await on.store.next('acquire');
    const third = await on.store.next('acquire');
    expect(second.command.requestId).not.toBe(first.command.requestId);
    expect(new Set([first, second, third].map(({ command }) => command.attach)).size).toBe(3);
    expect(first.command.attach).toMatch(/^s1\.\d+$/);
    expect(third.command.attach).toMatch(/^s1\.\d+s$/);
    expect(new Set([first, second, third].map(({ command }) => command.secret)).size).toBe(3);
  });

  it('that gRPC itself sent again needs a request id, and is refused before anything is done', async () => {
    const without = on.acquire({ requestId: undefined }, { transportRetry: true });
    await on.clock.advance(0);
    expect(without.outcome).toBe('REQUEST_MISMATCH');
    expect(on.store.log).toEqual([]);
    on.acquire({}, { transportRetry: true });
    expect(on.store.count('acquire')).toBe(1);
  });

  const refusals: [string, AcquireReply, string, object][] = [
    [
      'that finds it held',
      { kind: 'refused', snapshot: HELD_BY_BOB },
      'CONTENDED',
      { holder_id: 'bob', waiter_count: '2' },
    ],
    [
      'of a known request with another mode',
      { kind: 'mismatch', field: 'mode' },
      'REQUEST_MISMATCH',
      { field: 'mode' },
    ],
    [
      'behind too many waiters',
      { kind: 'queue-full', waiterCount: 10_000 },
      'QUEUE_FULL',
      { waiter_count: '10000' },
    ],
    ['of more than there is', { kind: 'never-fits', limit: 4 }, 'NEVER_FITS', { limit: '4' }],
    ['of what nobody created', { kind: 'unknown-resource' }, 'NO_SUCH_SEMAPHORE', {}],
    [
      'whose lease has ended',
      { kind: 'finished', cause: 'expired' },
      'REQUEST_FINISHED',
      { request_id: ALICE },
    ],
  ];
  it.each(refusals)('%s says so', async (_, reply, reason, metadata) => {
    const pending = on.acquire({ waitTimeoutMs: 0 });
    await (await on.store.next('acquire')).answer(reply);
    expect(pending.outcome).toBe(reason);
    expect(pending.failure.details.metadata ?? {}).toMatchObject(metadata);
    expect(pending.failure.message).toMatch(/\S/);
    on.expectRest();
  });

  it('names the holder and how long it holds still', async () => {
    const pending = on.acquire({ waitTimeoutMs: 0 });
    await (await on.store.next('acquire')).answer({ kind: 'refused', snapshot: HELD_BY_BOB });
    expect(pending.failure.message).toBe(
      'lock "hello" is held by bob for 21 s more; raise wait_timeout to queue',
    );
    expect(pending.failure.details.retryAfterMs).toBeGreaterThan(0);
  });

  describe('when the store fails', () => {
    it('certainly before anything was done says so, and gives nothing back', async () => {
      const pending = on.acquire();
      await (await on.store.next('acquire')).fail('no');
      expect(pending.outcome).toBe('STORE_UNAVAILABLE');
      expect(on.store.count('withdraw')).toBe(0);
      on.expectRest();
    });

    it('out of memory says that', async () => {
      const pending = on.acquire();
      await (await on.store.next('acquire')).fail('no', 'full');
      expect(pending.outcome).toBe('STORE_FULL');
      expect(pending.failure.details.retryAfterMs).toBeGreaterThan(0);
      on.expectRest();
    });

    it('unanswered does not know, names the request to retry, and gives back what may have been granted', async () => {
      const pending = on.acquire({ requestId: undefined });
      const sent = await on.store.next('acquire');
      await sent.fail('unknown');
      expect(pending.outcome).toBe('OUTCOME_UNKNOWN');
      expect(pending.failure.details.metadata).toEqual({ request_id: sent.command.requestId });
      const back = await on.store.next('withdraw');
      expect(back.command).toMatchObject({ attach: sent.command.attach, giveBack: true });
      await back.answer({ kind: 'withdrawn', snapshot: NOBODY });
      on.expectRest();
    });

    it('by a defect passes it on as it is, and gives back what may have been granted', async () => {
      const pending = on.acquire();
      const defect = new TypeError('a bug');
      await (await on.store.next('acquire')).throw(defect);
      expect(pending.error).toBe(defect);
      await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot: NOBODY });
      on.expectRest();
    });
  });

  describe('waits', () => {
    const waitOf = async (
      values: { waitTimeoutMs?: number | undefined; ttlMs?: number },
      timeoutMs?: number,
    ) => {
      on.acquire(values, timeoutMs === undefined ? {} : { timeoutMs });
      return (await on.store.next('acquire')).command.wait;
    };

    it('unless it is to try once, or its deadline leaves no time to wait', async () => {
      expect(await waitOf({})).toBe(true);
      expect(await waitOf({ waitTimeoutMs: 1 })).toBe(true);
      expect(await waitOf({ waitTimeoutMs: 0 })).toBe(false);
      expect(await waitOf({}, 21)).toBe(true);
      expect(await waitOf({}, 20)).toBe(false);
      expect(await waitOf({}, 1)).toBe(false);
      expect(await waitOf({ waitTimeoutMs: 5000 }, 15)).toBe(false);
    });

    // A tenth of the client's time before its deadline, but at least 20 ms and at most 250 ms.
    it.each([
      ['its wait_timeout', { waitTimeoutMs: 500 }, undefined, 500],
      ['the sooner of both', { waitTimeoutMs: 500 }, 10_000, 500],
      ['the deadline, less at least 20 ms', {}, 100, 80],
      ['the deadline, less a tenth', {}, 1000, 900],
      ['the deadline, less a tenth of 2 s', {}, 2000, 1800],
      ['the deadline, less at most 250 ms', {}, 10_000, 9750],
      ['the deadline, though wait_timeout is later', { waitTimeoutMs: 60_000 }, 10_000, 9750],
      ['an hour, without a deadline', {}, undefined, 3_600_000],
      ['an hour, with a deadline of 30 days', {}, 30 * 86_400_000, 3_600_000],
      ['200 ttls, if that is less', { ttlMs: 1000 }, undefined, 200_000],
    ])('until %s, and ends by asking', async (_, values, timeoutMs, expected) => {
      const pending = on.acquire(values, timeoutMs === undefined ? {} : { timeoutMs });
      await letWait(on);
      const { receivedAt } = pending.call;
      await on.clock.advance(expected - 1);
      expect(on.store.count('withdraw')).toBe(0);
      await on.clock.advance(11);
      const sent = await on.store.next('withdraw');
      expect(sent.at - receivedAt).toBeGreaterThanOrEqual(expected);
      expect(sent.at - receivedAt).toBeLessThanOrEqual(expected + 10);
      expect(sent.command).toMatchObject({ requestId: ALICE, giveBack: false });
      // Nothing is assumed before the store has said it.
      expect(pending.outcome).toBe('waiting');
      await sent.answer({ kind: 'withdrawn', snapshot: HELD_BY_BOB });
      expect(pending.outcome).toBe('CONTENDED');
      expect(pending.failure.details.metadata).toEqual({ holder_id: 'bob', waiter_count: '2' });
      while (on.store.underWay.includes('touch')) {
        await (await on.store.next('touch')).answer({ snapshot: NOBODY, waiters: [] });
      }
      on.expectRest();
    });

    it('at most an hour less up to a tenth, so that not all end together', async () => {
      on.identities.jitter = 0.5;
      on.acquire();
      await letWait(on);
      await on.clock.advance(3_600_000 * 0.95 - 1);
      expect(on.store.count('withdraw')).toBe(0);
      await on.clock.advance(11);
      expect(on.store.count('withdraw')).toBe(1);
    });
  });

  describe('at the end of its wait', () => {
    async function endOfWait(values = {}) {
      const pending = on.acquire({ waitTimeoutMs: 500, ...values });
      await letWait(on);
      await on.clock.advance(500);
      return { pending, sent: await on.store.next('withdraw') };
    }

    it('takes what it was granted meanwhile', async () => {
      const { pending, sent } = await endOfWait();
      await sent.answer(grantedAt(sent.at, { fencingToken: 3n }));
      expect(pending.value.fencingToken).toBe(3n);
      expect(pending.value.expireOffsetMs).toBeCloseTo(30_500 * (1 - RHO), 6);
      on.expectRest();
    });

    it.each([
      ['superseded', { kind: 'superseded' }, 'SUPERSEDED'],
      ['ended', { kind: 'finished', cause: 'released' }, 'REQUEST_FINISHED'],
      ['answered to another call', { kind: 'kept' }, 'OUTCOME_UNKNOWN'],
    ] as const)('learns that it was %s', async (_, reply, reason) => {
      const { pending, sent } = await endOfWait();
      await sent.answer(reply);
      expect(pending.outcome).toBe(reason);
      on.expectRest();
    });

    it.each(['no', 'unknown'] as const)(
      'does not know, if the store does not answer (carried out: %s)',
      async (fate) => {
        const { pending, sent } = await endOfWait();
        await sent.fail(fate);
        expect(pending.outcome).toBe('OUTCOME_UNKNOWN');
        // What it may have been granted goes back, as soon as the store answers again.
        for (let pauseMs = 500; pauseMs < 3000; pauseMs *= 1.5) {
          const back = await on.store.next('withdraw');
          expect(back.command.giveBack).toBe(true);
          await back.fail('no');
          expect(on.permits.stats().givingBackCount).toBe(1);
          await on.clock.advance(pauseMs + 10);
        }
        await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot: NOBODY });
        on.expectRest();
      },
    );

    it('goes on giving back after its ttl, for a place in the queue has none; for five minutes', async () => {
      const { sent } = await endOfWait({ ttlMs: 2000 });
      await sent.fail('unknown');
      const startedAt = on.clock.now();
      while (on.permits.stats().givingBackCount > 0) {
        if (on.store.underWay.length > 0) await (await on.store.next('withdraw')).fail('unknown');
        await on.clock.advance(500);
      }
      expect(on.clock.now() - startedAt).toBeGreaterThan(290_000);
      expect(on.clock.now() - startedAt).toBeLessThan(310_000);
      // At longer and longer intervals: it has to be no load.
      expect(on.store.count('withdraw')).toBeLessThan(50);
      on.expectRest();
    });
  });

  describe('whose grant comes too late to be of use', () => {
    const late = { ttlMs: 1000, remainingMs: 1000 };

    it('gives it back and goes on waiting at the same place', async () => {
      const pending = on.acquire({ ttlMs: 1000 });
      const sent = await on.store.next('acquire');
      await on.clock.advance(1000);
      await sent.answer(grantedAt(sent.at, { ...late, fencingToken: 44n }));
      const back = await on.store.next('withdraw');
      // Sent again after a broken connection, it may run late: it must not take the next grant.
      expect(back.command).toMatchObject({ attach: sent.command.attach, giveBack: true, fencingToken: 44n });
      await back.answer({ kind: 'withdrawn', snapshot: NOBODY });
      const claim = await on.store.next('claim');
      expect(claim.command).toMatchObject({ attach: sent.command.attach, ticket: '44' });
      await claim.answer(grantedAt(claim.at, { ...late, fencingToken: 45n }));
      expect(pending.value.fencingToken).toBe(45n);
      expect(pending.value.expireOffsetMs).toBeCloseTo(2000 * (1 - RHO), 6);
      on.expectRest();
    });

    it('is of use up to the last moment', async () => {
      const pending = on.acquire({ ttlMs: 1000 });
      const sent = await on.store.next('acquire');
      await on.clock.advance(999);
      await sent.answer(grantedAt(sent.at, late));
      expect(pending.outcome).toBe('OK');
    });

    it('gives it back and says that nothing was done, if it was to try once', async () => {
      const pending = on.acquire({ ttlMs: 1000, waitTimeoutMs: 0 });
      const sent = await on.store.next('acquire');
      await on.clock.advance(1000);
      await sent.answer(grantedAt(sent.at, late));
      await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot: NOBODY });
      expect(pending.outcome).toBe('STORE_UNAVAILABLE');
      on.expectRest();
    });

    it.each([
      ['taken over by another call', { kind: 'superseded' }, 'OUTCOME_UNKNOWN'],
      ['answered to another call', { kind: 'kept' }, 'OUTCOME_UNKNOWN'],
      ['over', { kind: 'finished', cause: 'released' }, 'REQUEST_FINISHED'],
    ] as const)('never says that nothing is held, if the lease is %s by then', async (_, reply, reason) => {
      for (const waitTimeoutMs of [0, undefined]) {
        const pending = on.acquire({ ttlMs: 1000, waitTimeoutMs });
        const sent = await on.store.next('acquire');
        await on.clock.advance(1000);
        await sent.answer(grantedAt(sent.at, late));
        await (await on.store.next('withdraw')).answer(reply);
        expect(pending.outcome).toBe(reason);
        expect(pending.failure.details.metadata).toEqual({ request_id: ALICE });
        on.expectRest();
      }
    });

    it('claims again after a claim that was answered too late', async () => {
      const pending = on.acquire({ ttlMs: 1000 });
      const { command } = await letWait(on);
      on.store.listener?.recheck({ service: 'lock', name: 'hello' }, command.requestId);
      const first = await on.store.next('claim');
      await on.clock.advance(900);
      await on.clock.advance(100);
      await first.answer(grantedAt(first.at, late));
      expect(pending.outcome).toBe('waiting');
      await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot: NOBODY });
      const second = await on.store.next('claim');
      await second.answer(grantedAt(second.at, late));
      expect(pending.outcome).toBe('OK');
    });

    it('at the end of the wait gives it back, and was not granted', async () => {
      const pending = on.acquire({ ttlMs: 1000, waitTimeoutMs: 500 });
      await letWait(on);
      await on.clock.advance(500);
      const sent = await on.store.next('withdraw');
      await on.clock.advance(1000);
      await sent.answer(grantedAt(sent.at, late));
      const back = await on.store.next('withdraw');
      expect(back.command.giveBack).toBe(true);
      expect(pending.outcome).toBe('waiting');
      await back.answer({ kind: 'withdrawn', snapshot: HELD_BY_BOB });
      expect(pending.outcome).toBe('CONTENDED');
    });

    it('does not say that nothing was done, if it cannot be given back', async () => {
      const pending = on.acquire({ ttlMs: 1000 });
      const sent = await on.store.next('acquire');
      await on.clock.advance(1000);
      await sent.answer(grantedAt(sent.at, late));
      await (await on.store.next('withdraw')).fail('no');
      expect(pending.outcome).toBe('OUTCOME_UNKNOWN');
      await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot: NOBODY });
      on.expectRest();
    });
  });
});
