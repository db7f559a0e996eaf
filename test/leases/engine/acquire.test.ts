import { expireOffsetMs, LOCK_LIMIT } from '../../../src/leases/lease';
import { decodeLeaseId } from '../../../src/leases/lease-id';
import type { AcquireReply } from '../../../src/leases/lease-store';
import { answerWaiting, EngineFixture } from '../../support/leases/engine-fixture';
import { ALICE } from '../../support/fake-call';
import { grantedAt, EMPTY_SNAPSHOT } from '../../support/leases/fake-store';

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
    identity: '',
  },
  holderEndMs: 21_000,
  limit: LOCK_LIMIT,
  usedCount: LOCK_LIMIT,
};

describe('acquire', () => {
  let on: EngineFixture;
  beforeEach(() => {
    on = EngineFixture.onFakeStore();
  });

  it('returns the lease with its lease_id, and with an expire_offset that counts from the call', async () => {
    const pending = on.acquire({ name: 'a/ü' });
    await on.clock.advance(40); // The command was sent immediately, and its reply comes 40 ms later.
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
    expect(expireOffsetMs(pending.call.receivedAt, lease.end)).toBeCloseTo(
      (sent.at - pending.call.receivedAt + 20_000) * (1 - RHO),
      6,
    );
    expect(decodeLeaseId('lock', lease.leaseId)).toMatchObject({
      resource: { service: 'lock', name: 'a/ü' },
      requestId: ALICE,
      secret: 'AAAAAAAAAAAAAAAAAAAAAA',
    });
    on.expectRest();
  });

  it('requests all permits of a lock, 1 permit of a shared lock, and permit_count permits of a semaphore', async () => {
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

  it('makes a request id if the call has none, and an attach value and a secret for every call', async () => {
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

  it('answers REQUEST_MISMATCH to a transport retry without a request id, and sends no command', async () => {
    const without = on.acquire({ requestId: undefined }, { transportRetry: true });
    await on.clock.advance(0);
    expect(without.outcome).toBe('REQUEST_MISMATCH');
    expect(on.store.log).toEqual([]);
    on.acquire({}, { transportRetry: true });
    expect(on.store.count('acquire')).toBe(1);
  });

  const refusals: [string, AcquireReply, string, object][] = [
    [
      'CONTENDED with the holder id',
      { kind: 'refused', snapshot: HELD_BY_BOB },
      'CONTENDED',
      { holder_id: 'bob', waiter_count: '2' },
    ],
    [
      'REQUEST_MISMATCH with the field',
      { kind: 'mismatch', field: 'mode' },
      'REQUEST_MISMATCH',
      { field: 'mode' },
    ],
    [
      'QUEUE_FULL with the waiter count',
      { kind: 'queue-full', waiterCount: 10_000 },
      'QUEUE_FULL',
      { waiter_count: '10000' },
    ],
    ['NEVER_FITS with the limit', { kind: 'never-fits', limit: 4 }, 'NEVER_FITS', { limit: '4' }],
    ['NO_SUCH_SEMAPHORE', { kind: 'unknown-resource' }, 'NO_SUCH_SEMAPHORE', {}],
    [
      'REQUEST_FINISHED with the request id',
      { kind: 'finished', cause: 'expired' },
      'REQUEST_FINISHED',
      { request_id: ALICE },
    ],
  ];
  it.each(refusals)('answers %s', async (_, reply, reason, metadata) => {
    const pending = on.acquire({ waitTimeoutMs: 0 });
    await (await on.store.next('acquire')).answer(reply);
    expect(pending.outcome).toBe(reason);
    expect(pending.failure.details.metadata ?? {}).toMatchObject(metadata);
    expect(pending.failure.message).toMatch(/\S/);
    on.expectRest();
  });

  it('names the holder and its remaining time in the text of CONTENDED', async () => {
    const pending = on.acquire({ waitTimeoutMs: 0 });
    await (await on.store.next('acquire')).answer({ kind: 'refused', snapshot: HELD_BY_BOB });
    expect(pending.failure.message).toBe(
      'lock "hello" is held by bob for 21 s more; raise wait_timeout to queue',
    );
    expect(pending.failure.details.retryAfterMs).toBeGreaterThan(0);
  });

  describe('when the store fails', () => {
    it('answers STORE_UNAVAILABLE if the command was not carried out, and gives nothing back', async () => {
      const pending = on.acquire();
      await (await on.store.next('acquire')).fail('no');
      expect(pending.outcome).toBe('STORE_UNAVAILABLE');
      expect(on.store.count('withdraw')).toBe(0);
      on.expectRest();
    });

    it('answers STORE_FULL if the store is out of memory', async () => {
      const pending = on.acquire();
      await (await on.store.next('acquire')).fail('no', 'full');
      expect(pending.outcome).toBe('STORE_FULL');
      on.expectRest();
    });

    it('answers OUTCOME_UNKNOWN with the request id if there is no reply, and gives a possible grant back', async () => {
      const pending = on.acquire({ requestId: undefined });
      const sent = await on.store.next('acquire');
      await sent.fail('unknown');
      expect(pending.outcome).toBe('OUTCOME_UNKNOWN');
      expect(pending.failure.details.metadata).toEqual({ request_id: sent.command.requestId });
      const back = await on.store.next('withdraw');
      expect(back.command).toMatchObject({ attach: sent.command.attach, giveBack: true });
      await back.answer({ kind: 'withdrawn', snapshot: EMPTY_SNAPSHOT });
      on.expectRest();
    });

    it('rejects with the unchanged defect, and gives a possible grant back', async () => {
      const pending = on.acquire();
      const defect = new TypeError('a bug');
      await (await on.store.next('acquire')).throw(defect);
      expect(pending.error).toBe(defect);
      await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot: EMPTY_SNAPSHOT });
      on.expectRest();
    });
  });

  describe('if the resource is not free', () => {
    const waitOf = async (
      values: { waitTimeoutMs?: number | undefined; ttlMs?: number },
      timeoutMs?: number,
    ) => {
      on.acquire(values, timeoutMs === undefined ? {} : { timeoutMs });
      return (await on.store.next('acquire')).command.wait;
    };

    it('waits only if wait_timeout and the deadline allow a wait', async () => {
      expect(await waitOf({})).toBe(true);
      expect(await waitOf({ waitTimeoutMs: 1 })).toBe(true);
      expect(await waitOf({ waitTimeoutMs: 0 })).toBe(false);
      expect(await waitOf({}, 21)).toBe(true);
      expect(await waitOf({}, 20)).toBe(false);
      expect(await waitOf({}, 1)).toBe(false);
      expect(await waitOf({ waitTimeoutMs: 5000 }, 15)).toBe(false);
    });

    // The margin before the deadline is a tenth of the timeout, from 20 ms to 250 ms.
    it.each([
      ['wait_timeout has passed', { waitTimeoutMs: 500 }, undefined, 500],
      ['wait_timeout has passed, if the deadline is later', { waitTimeoutMs: 500 }, 10_000, 500],
      ['20 ms before a deadline of 100 ms', {}, 100, 80],
      ['100 ms before a deadline of 1 s', {}, 1000, 900],
      ['200 ms before a deadline of 2 s', {}, 2000, 1800],
      ['250 ms before a deadline of 10 s', {}, 10_000, 9750],
      [
        '250 ms before a deadline that comes before wait_timeout has passed',
        { waitTimeoutMs: 60_000 },
        10_000,
        9750,
      ],
      ['an hour has passed, if there is no deadline', {}, undefined, 3_600_000],
      ['an hour has passed, if the deadline is in 30 days', {}, 30 * 86_400_000, 3_600_000],
      ['200 ttls have passed, if 200 ttls are less than an hour', { ttlMs: 1000 }, undefined, 200_000],
    ])('waits until %s, and then withdraws its place', async (_, values, timeoutMs, expected) => {
      const pending = on.acquire(values, timeoutMs === undefined ? {} : { timeoutMs });
      await answerWaiting(on);
      const { receivedAt } = pending.call;
      await on.clock.advance(expected - 1);
      expect(on.store.count('withdraw')).toBe(0);
      await on.clock.advance(11);
      const sent = await on.store.next('withdraw');
      expect(sent.at - receivedAt).toBeGreaterThanOrEqual(expected);
      expect(sent.at - receivedAt).toBeLessThanOrEqual(expected + 10);
      expect(sent.command).toMatchObject({ requestId: ALICE, giveBack: false });
      // The call ends only after the answer of the store.
      expect(pending.outcome).toBe('waiting');
      await sent.answer({ kind: 'withdrawn', snapshot: HELD_BY_BOB });
      expect(pending.outcome).toBe('CONTENDED');
      expect(pending.failure.details.metadata).toEqual({ holder_id: 'bob', waiter_count: '2' });
      while (on.store.inFlight.includes('touch')) {
        await (await on.store.next('touch')).answer({ snapshot: EMPTY_SNAPSHOT, waiters: [] });
      }
      on.expectRest();
    });

    it('ends its wait after a random time from 54 to 60 minutes', async () => {
      on.identities.jitter = 0.5;
      on.acquire();
      await answerWaiting(on);
      await on.clock.advance(3_600_000 * 0.95 - 1);
      expect(on.store.count('withdraw')).toBe(0);
      await on.clock.advance(11);
      expect(on.store.count('withdraw')).toBe(1);
    });
  });

  describe('at the end of its wait', () => {
    async function endOfWait(values = {}) {
      const pending = on.acquire({ waitTimeoutMs: 500, ...values });
      await answerWaiting(on);
      await on.clock.advance(500);
      return { pending, sent: await on.store.next('withdraw') };
    }

    it('returns a grant that arrives with the withdrawal', async () => {
      const { pending, sent } = await endOfWait();
      await sent.answer(grantedAt(sent.at, { fencingToken: 3n }));
      expect(pending.value.fencingToken).toBe(3n);
      expect(expireOffsetMs(pending.call.receivedAt, pending.value.end)).toBeCloseTo(30_500 * (1 - RHO), 6);
      on.expectRest();
    });

    it.each([
      ['superseded', { kind: 'superseded' }, 'SUPERSEDED'],
      ['finished', { kind: 'finished', cause: 'released' }, 'REQUEST_FINISHED'],
      ['kept (another call got the grant)', { kind: 'kept' }, 'OUTCOME_UNKNOWN'],
    ] as const)('ends with the error for the reply %s', async (_, reply, reason) => {
      const { pending, sent } = await endOfWait();
      await sent.answer(reply);
      expect(pending.outcome).toBe(reason);
      on.expectRest();
    });

    it.each(['no', 'unknown'] as const)(
      'answers OUTCOME_UNKNOWN if the withdrawal fails (carried out: %s), and gives a possible grant back',
      async (carriedOut) => {
        const { pending, sent } = await endOfWait();
        await sent.fail(carriedOut);
        expect(pending.outcome).toBe('OUTCOME_UNKNOWN');
        // The engine repeats the give-back until the store answers.
        for (let pauseMs = 500; pauseMs < 3000; pauseMs *= 1.5) {
          const back = await on.store.next('withdraw');
          expect(back.command.giveBack).toBe(true);
          await back.fail('no');
          expect(on.permits.stats().givingBackCount).toBe(1);
          await on.clock.advance(pauseMs + 10);
        }
        await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot: EMPTY_SNAPSHOT });
        on.expectRest();
      },
    );

    it('retries a give-back for five minutes, even if the ttl is shorter', async () => {
      const { sent } = await endOfWait({ ttlMs: 2000 });
      await sent.fail('unknown');
      const startedAt = on.clock.now();
      while (on.permits.stats().givingBackCount > 0) {
        if (on.store.inFlight.length > 0) await (await on.store.next('withdraw')).fail('unknown');
        await on.clock.advance(500);
      }
      expect(on.clock.now() - startedAt).toBeGreaterThan(290_000);
      expect(on.clock.now() - startedAt).toBeLessThan(310_000);
      // The pauses between the retries grow, so the retries are a small load for the store.
      expect(on.store.count('withdraw')).toBeLessThan(50);
      on.expectRest();
    });
  });

  describe('with a grant that arrives after its expire_offset has passed', () => {
    const late = { ttlMs: 1000, remainingMs: 1000 };

    it('gives the grant back, and waits again in its old place', async () => {
      const pending = on.acquire({ ttlMs: 1000 });
      const sent = await on.store.next('acquire');
      await on.clock.advance(1000);
      await sent.answer(grantedAt(sent.at, { ...late, fencingToken: 44n }));
      const back = await on.store.next('withdraw');
      // The command may run again after a broken connection. With the fencing token the command gives back no later grant.
      expect(back.command).toMatchObject({ attach: sent.command.attach, giveBack: true, fencingToken: 44n });
      await back.answer({ kind: 'withdrawn', snapshot: EMPTY_SNAPSHOT, ticket: '43' });
      const claim = await on.store.next('claim');
      expect(claim.command).toMatchObject({ attach: sent.command.attach, ticket: '43' });
      await claim.answer(grantedAt(claim.at, { ...late, fencingToken: 45n }));
      expect(pending.value.fencingToken).toBe(45n);
      expect(expireOffsetMs(pending.call.receivedAt, pending.value.end)).toBeCloseTo(2000 * (1 - RHO), 6);
      on.expectRest();
    });

    it('waits with the token of the grant as its ticket if the store has lost the ticket', async () => {
      on.acquire({ ttlMs: 1000 });
      const sent = await on.store.next('acquire');
      await on.clock.advance(1000);
      await sent.answer(grantedAt(sent.at, { ...late, fencingToken: 44n }));
      await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot: EMPTY_SNAPSHOT });
      expect((await on.store.next('claim')).command.ticket).toBe('44');
    });

    it('gives the grant back, and answers CONTENDED without a claim if wait_timeout has passed', async () => {
      const pending = on.acquire({ ttlMs: 1000, waitTimeoutMs: 900 });
      const sent = await on.store.next('acquire');
      await on.clock.advance(1000);
      await sent.answer(grantedAt(sent.at, late));
      await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot: EMPTY_SNAPSHOT });
      expect(pending.outcome).toBe('CONTENDED');
      expect(pending.failure.message).toBe(
        'lock "hello" was granted, but the store answered too late for the ttl of 1 s; not granted in time within 1 s; try again, or with a longer ttl',
      );
      on.expectRest();
    });

    it('gives a late grant of a claim back, and answers CONTENDED without a claim if wait_timeout has passed', async () => {
      const pending = on.acquire({ ttlMs: 1000, waitTimeoutMs: 900 });
      const { command } = await answerWaiting(on);
      on.store.listener?.recheck({ service: 'lock', name: 'hello' }, command.requestId);
      const claim = await on.store.next('claim');
      await on.clock.advance(1000);
      await claim.answer(grantedAt(claim.at, late));
      await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot: HELD_BY_BOB });
      expect(pending.outcome).toBe('CONTENDED');
      expect(pending.failure.message).toContain('is still held by bob');
      expect(on.store.count('claim')).toBe(1);
    });

    it('answers the client with a grant that arrives in the last millisecond of its expire_offset', async () => {
      const pending = on.acquire({ ttlMs: 1000 });
      const sent = await on.store.next('acquire');
      await on.clock.advance(999);
      await sent.answer(grantedAt(sent.at, late));
      expect(pending.outcome).toBe('OK');
    });

    it('gives the grant back, and answers STORE_UNAVAILABLE if wait_timeout is 0', async () => {
      const pending = on.acquire({ ttlMs: 1000, waitTimeoutMs: 0 });
      const sent = await on.store.next('acquire');
      await on.clock.advance(1000);
      await sent.answer(grantedAt(sent.at, late));
      await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot: EMPTY_SNAPSHOT });
      expect(pending.outcome).toBe('STORE_UNAVAILABLE');
      expect(pending.failure.message).toBe(
        'the store granted lock "hello", but answered too late for the ttl of 1 s: nothing is held; try again, or with a longer ttl',
      );
      on.expectRest();
    });

    it.each([
      ['superseded', { kind: 'superseded' }, 'OUTCOME_UNKNOWN'],
      ['kept', { kind: 'kept' }, 'OUTCOME_UNKNOWN'],
      ['finished', { kind: 'finished', cause: 'released' }, 'REQUEST_FINISHED'],
    ] as const)(
      'never answers STORE_UNAVAILABLE if the reply to the give-back is %s',
      async (_, reply, reason) => {
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
      },
    );

    it('gives a late grant of a claim back, and claims again', async () => {
      const pending = on.acquire({ ttlMs: 1000 });
      const { command } = await answerWaiting(on);
      on.store.listener?.recheck({ service: 'lock', name: 'hello' }, command.requestId);
      const first = await on.store.next('claim');
      await on.clock.advance(900);
      await on.clock.advance(100);
      await first.answer(grantedAt(first.at, late));
      expect(pending.outcome).toBe('waiting');
      await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot: EMPTY_SNAPSHOT });
      const second = await on.store.next('claim');
      await second.answer(grantedAt(second.at, late));
      expect(pending.outcome).toBe('OK');
    });

    it('gives a late grant of a withdrawal back, and answers CONTENDED', async () => {
      const pending = on.acquire({ ttlMs: 1000, waitTimeoutMs: 500 });
      await answerWaiting(on);
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

    it('answers OUTCOME_UNKNOWN if the give-back fails', async () => {
      const pending = on.acquire({ ttlMs: 1000 });
      const sent = await on.store.next('acquire');
      await on.clock.advance(1000);
      await sent.answer(grantedAt(sent.at, late));
      await (await on.store.next('withdraw')).fail('no');
      expect(pending.outcome).toBe('OUTCOME_UNKNOWN');
      await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot: EMPTY_SNAPSHOT });
      on.expectRest();
    });
  });
});
