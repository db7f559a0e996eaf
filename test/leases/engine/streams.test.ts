import { expireOffsetMs, type HoldEvent, LOCK_LIMIT } from '../../../src/leases/lease';
import {
  answerRenewal,
  answerTouch,
  answerWaiting,
  EngineFixture,
  UNCHANGED,
} from '../../support/leases/engine-fixture';
import { ALICE } from '../../support/fake-call';
import { grantedAt, EMPTY_SNAPSHOT } from '../../support/leases/fake-store';
import { settled } from '../../support/manual-clock';

const HELLO = { service: 'lock', name: 'hello' } as const;
const RHO = 0.0005;
const BOB = {
  holderId: 'bob',
  metadata: {},
  fencingToken: 5n,
  permitCount: LOCK_LIMIT,
  mode: 'exclusive' as const,
  acquireTimeMs: 0,
  expireTimeMs: 0,
  revoked: false,
  identity: '',
};

describe('a hold stream', () => {
  let on: EngineFixture;
  beforeEach(() => {
    on = EngineFixture.onFakeStore({ maxStreams: 3 });
  });

  async function granted(values = {}) {
    const stream = on.hold(values);
    const sent = await on.store.next('acquire');
    await sent.answer(grantedAt(sent.at));
    const { lease } = stream.sink.last('granted');
    return { stream, sent, lease };
  }

  describe('with an acquire', () => {
    it('takes over the lease of its request, and holds the lease', async () => {
      const { stream, sent, lease } = await granted();
      expect(sent.command).toMatchObject({ takeOver: true, wait: true });
      expect(stream.sink.kinds).toEqual(['granted']);
      expect(lease).toMatchObject({ requestId: ALICE, permitCount: 1, ttlMs: 30_000 });
      expect(expireOffsetMs(stream.call.receivedAt, lease.end)).toBeCloseTo(30_000 * (1 - RHO), 6);
      expect(on.permits.stats()).toMatchObject({ heldCount: 1, waitingCount: 0 });
      expect(stream.outcome).toBe('waiting');
    });

    it('sends queued immediately, with the holder and its position', async () => {
      const stream = on.hold();
      await answerWaiting(on, { position: 3, snapshot: { ...EMPTY_SNAPSHOT, waiterCount: 7, holder: BOB } });
      const { at: _, ...event } = stream.sink.last('queued');
      expect(event).toEqual({
        kind: 'queued',
        requestId: ALICE,
        position: 3,
        waiterCount: 7,
        holder: { ...BOB, permitCount: 1 },
      });
    });

    it('sends queued when its position changes, at most every two seconds', async () => {
      const stream = on.hold();
      await answerWaiting(on, { position: 9 });
      const start = on.clock.now();
      for (const position of [9, 8, 7, 6, 5, 4, 4, 4, 3]) {
        await on.clock.advance(1000);
        await answerTouch(on, [position]);
      }
      const told = stream.sink.events.map((event) => [
        event.at - start,
        event.kind === 'queued' ? event.position : undefined,
      ]);
      expect(told).toEqual([
        [0, 9],
        [2000, 8],
        [4000, 6],
        [6000, 4],
        [9000, 3],
      ]);
    });

    it('sends granted after a wait, with an expire_offset from the claim', async () => {
      const stream = on.hold();
      await answerWaiting(on);
      await on.clock.advance(400);
      on.store.listener?.recheck(HELLO, ALICE);
      const claim = await on.store.next('claim');
      await claim.answer(grantedAt(claim.at));
      expect(stream.sink.kinds).toEqual(['queued', 'granted']);
      const { lease } = stream.sink.last('granted');
      const { receivedAt } = stream.call;
      expect(expireOffsetMs(receivedAt, lease.end)).toBeCloseTo(30_400 * (1 - RHO), 6);
      await on.clock.advance(10_000);
      const renewal = await on.store.next('renew');
      await renewal.answer(grantedAt(renewal.at));
      const { end } = stream.sink.last('renewed');
      expect(expireOffsetMs(receivedAt, end)).toBeCloseTo(40_400 * (1 - RHO), 6);
    });

    it('ends with REATTACH if it waits up to its age limit', async () => {
      const stream = on.hold({ ttlMs: 1000 });
      await answerWaiting(on);
      await on.clock.advance(200_000);
      await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot: EMPTY_SNAPSHOT });
      expect(stream.outcome).toBe('REATTACH');
      expect(stream.failure.details.retryAfterMs).toBeDefined();
    });

    it('ends with CONTENDED when its wait_timeout has passed', async () => {
      const stream = on.hold({ waitTimeoutMs: 1500 });
      await answerWaiting(on);
      await on.clock.advance(1500);
      await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot: EMPTY_SNAPSHOT });
      expect(stream.outcome).toBe('CONTENDED');
    });

    it('gives a grant back if the client is gone before the grant arrives', async () => {
      const stream = on.hold();
      const sent = await on.store.next('acquire');
      stream.call.cancel();
      await sent.answer(grantedAt(sent.at));
      expect(stream.sink.events).toEqual([]);
      await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot: EMPTY_SNAPSHOT });
      on.expectRest();
    });
  });

  describe('with a lease id', () => {
    const attachTo = async () => {
      const { stream: older, lease, sent } = await granted();
      const newer = on.attach(lease.leaseId);
      const renewal = await on.store.next('renew');
      return { older, newer, renewal, lease, sent };
    };

    it('takes the lease over, and sends granted with an expire_offset that counts from this stream', async () => {
      const { stream, lease, sent } = await granted();
      stream.call.cancel();
      await on.clock.advance(5000);
      const newer = on.attach(lease.leaseId);
      const renewal = await on.store.next('renew');
      expect(renewal.command).toMatchObject({
        requestId: ALICE,
        secret: 'AAAAAAAAAAAAAAAAAAAAAA',
        stream: { takeOver: true },
      });
      expect(renewal.command.stream?.attach).not.toBe(sent.command.attach);
      await renewal.answer(grantedAt(renewal.at));
      const again = newer.sink.last('granted').lease;
      expect(again).toMatchObject({ leaseId: lease.leaseId, fencingToken: lease.fencingToken });
      expect(expireOffsetMs(newer.call.receivedAt, again.end)).toBeCloseTo(30_000 * (1 - RHO), 6);
      await on.clock.advance(10_000);
      expect((await on.store.next('renew')).command.stream).toEqual({
        attach: renewal.command.stream?.attach,
        takeOver: false,
      });
    });

    it('ends the older stream of this server with SUPERSEDED', async () => {
      const { older, newer, renewal } = await attachTo();
      await renewal.answer(grantedAt(renewal.at));
      expect(older.outcome).toBe('SUPERSEDED');
      expect(older.sink.kinds).toEqual(['granted']);
      expect(newer.outcome).toBe('waiting');
      expect(on.permits.stats().heldCount).toBe(1);
    });

    it.each([
      [{ kind: 'finished', cause: 'expired' }, { cause: 'EXPIRED' }],
      [{ kind: 'finished', cause: 'released' }, { cause: 'RELEASED' }],
      [{ kind: 'gone' }, undefined],
    ] as const)(
      'ends with LEASE_NOT_HELD after the reply %j, and never sends granted',
      async (reply, metadata) => {
        const { newer, renewal } = await attachTo();
        await renewal.answer(reply);
        expect(newer.outcome).toBe('LEASE_NOT_HELD');
        expect(newer.failure.details.metadata).toEqual(metadata);
        expect(newer.sink.events).toEqual([]);
      },
    );

    it('ends with OUTCOME_UNKNOWN if the store does not answer', async () => {
      const { newer, renewal } = await attachTo();
      await renewal.fail('unknown');
      expect(newer.outcome).toBe('OUTCOME_UNKNOWN');
    });

    it('ends with OUTCOME_UNKNOWN if the expire_offset has passed when the reply comes', async () => {
      const { newer, renewal } = await attachTo();
      await on.clock.advance(30_000);
      await renewal.answer(grantedAt(renewal.at));
      expect(newer.outcome).toBe('OUTCOME_UNKNOWN');
      expect(newer.sink.events).toEqual([]);
    });

    it('does not release the lease if its client is gone before the reply', async () => {
      const { newer, renewal, older } = await attachTo();
      newer.call.cancel();
      older.call.cancel();
      await renewal.answer(grantedAt(renewal.at));
      expect(newer.sink.events).toEqual([]);
      expect(on.store.count('release')).toBe(0);
      on.expectRest();
    });

    it.each(['', 'nonsense', 'AQEA'])(
      'ends with INVALID_FIELD for the invalid lease_id %j',
      async (leaseId) => {
        const stream = on.attach(leaseId);
        await settled();
        expect(stream.outcome).toBe('INVALID_FIELD');
        expect(stream.failure.details.violations).toMatchObject([{ field: 'lease_id' }]);
        expect(on.store.log).toEqual([]);
      },
    );
  });

  it('renews after a hint, and ends with OK if the lease was released', async () => {
    const { stream } = await granted();
    on.store.listener?.recheck(HELLO, ALICE);
    await answerRenewal(on, { kind: 'finished', cause: 'released' });
    expect(stream.sink.kinds).toEqual(['granted', 'released']);
    expect(stream.outcome).toBe('OK');
    on.expectRest();
  });

  it('renews immediately if a hint came before its grant', async () => {
    on.hold();
    const sent = await on.store.next('acquire');
    on.store.listener?.recheck(HELLO, ALICE);
    await sent.answer(grantedAt(sent.at));
    expect(on.store.inFlight).toEqual(['renew']);
  });

  it('ends with LEASE_LOST and the cause STORE_RESET if the store has lost the lease', async () => {
    const { stream } = await granted();
    await on.clock.advance(10_000);
    await answerRenewal(on, { kind: 'gone' });
    expect(stream.outcome).toBe('LEASE_LOST');
    expect(stream.failure.details.metadata).toEqual({ cause: 'STORE_RESET' });
    expect(stream.sink.kinds).toEqual(['granted', 'lost']);
    on.expectRest();
  });

  it('neither renews nor releases the lease after the client is gone', async () => {
    const { stream } = await granted();
    stream.call.cancel();
    await on.clock.advance(100_000);
    expect(on.store.log.map(({ verb }) => verb)).toEqual(['acquire']);
    expect(stream.outcome).toBe('OK');
    on.expectRest();
  });

  it.each([
    [30_000, 0, 3_600_000],
    [30_000, 0.5, 3_420_000],
    [1000, 0, 200_000],
    [1000, 0.999, 180_020],
  ])(
    'with a ttl of %i ms and a jitter of %d ends with REATTACH after %i ms',
    async (ttlMs, jitter, expected) => {
      on.identities.jitter = jitter;
      const stream = on.hold({ ttlMs });
      const sent = await on.store.next('acquire');
      await sent.answer(grantedAt(sent.at, { ttlMs, remainingMs: ttlMs }));
      const start = on.clock.now();
      while (!stream.over && on.clock.now() - start < 4_000_000) {
        await on.clock.advance(ttlMs / 10);
        if (!on.store.inFlight.includes('renew')) continue;
        const renewal = await on.store.next('renew');
        await renewal.answer(grantedAt(renewal.at, { ttlMs, remainingMs: ttlMs }));
      }
      expect(stream.outcome).toBe('REATTACH');
      const age = stream.sink.last('renewed').at - start;
      expect(age).toBeGreaterThanOrEqual(expected - 0.001);
      expect(age).toBeLessThanOrEqual(expected + ttlMs / 10 + 10);
      const kinds = new Set<HoldEvent['kind']>(stream.sink.kinds);
      expect([...kinds]).toEqual(['granted', 'renewed']);
      on.expectRest();
    },
  );

  it('ends with QUOTA_EXCEEDED while the maximum number of streams is open', async () => {
    const { stream } = await granted();
    on.hold({ requestId: ALICE.replace('a11c', 'a11d') });
    on.hold({ requestId: ALICE.replace('a11c', 'a11e') });
    const fourth = on.hold();
    await settled();
    expect(fourth.outcome).toBe('QUOTA_EXCEEDED');
    stream.call.cancel();
    await settled();
    const fifth = on.hold();
    await settled();
    expect(fifth.outcome).toBe('waiting');
  });
});

describe('a unary call with a lease id', () => {
  let on: EngineFixture;
  let leaseId: string;
  beforeEach(async () => {
    on = EngineFixture.onFakeStore();
    const pending = on.acquire();
    const sent = await on.store.next('acquire');
    await sent.answer(grantedAt(sent.at));
    leaseId = pending.value.leaseId;
  });

  const outcomeOf = <T>(promise: Promise<T>) =>
    promise.then(
      (value) => ({ value, reason: 'OK', metadata: undefined }),
      (error: { reason: string; details: { metadata?: object } }) => ({
        value: undefined,
        reason: error.reason,
        metadata: error.details.metadata,
      }),
    );
  const call = () => on.acquire({ waitTimeoutMs: 0 }).call;

  it('renews with the secret, with an expire_offset that counts from this call', async () => {
    const caller = call();
    const renewing = outcomeOf(on.permits.renew(caller, 'lock', leaseId, { ...UNCHANGED, ttlMs: 60_000 }));
    const sent = await on.store.next('renew');
    expect(sent.command).toEqual({
      requestId: ALICE,
      secret: 'AAAAAAAAAAAAAAAAAAAAAA',
      identity: '',
      ttlMs: 60_000,
      stream: undefined,
      caller: caller.connection,
    });
    await sent.answer(grantedAt(sent.at, { remainingMs: 60_000, ttlMs: 60_000 }));
    const { value } = await renewing;
    expect(value).toMatchObject({ leaseId, ttlMs: 60_000, permitCount: 1 });
    expect(value && expireOffsetMs(caller.receivedAt, value.end)).toBeCloseTo(60_000 * (1 - RHO), 6);
  });

  it.each([
    [{ kind: 'finished', cause: 'expired' }, { cause: 'EXPIRED' }],
    [{ kind: 'finished', cause: 'revoked' }, { cause: 'REVOKED' }],
    [{ kind: 'finished', cause: 'released' }, { cause: 'RELEASED' }],
    [{ kind: 'gone' }, undefined],
  ] as const)('answers LEASE_NOT_HELD to a renewal if the store replies %j', async (reply, metadata) => {
    const renewing = outcomeOf(on.permits.renew(call(), 'lock', leaseId, UNCHANGED));
    await (await on.store.next('renew')).answer(reply);
    expect(await renewing).toEqual({ value: undefined, reason: 'LEASE_NOT_HELD', metadata });
  });

  it.each([
    [{ kind: 'released' }, { released: true, lossCause: undefined }],
    [
      { kind: 'finished', cause: 'released' },
      { released: true, lossCause: undefined },
    ],
    [
      { kind: 'finished', cause: 'expired' },
      { released: false, lossCause: 'expired' },
    ],
    [
      { kind: 'finished', cause: 'revoked' },
      { released: false, lossCause: 'revoked' },
    ],
    [{ kind: 'gone' }, { released: false, lossCause: undefined }],
  ] as const)('tells from the reply %j whether the lease ended by a release', async (reply, expected) => {
    const releasing = outcomeOf(on.permits.release(call(), 'lock', leaseId));
    const sent = await on.store.next('release');
    expect(sent.command).toMatchObject({ requestId: ALICE, afterLoss: undefined });
    await sent.answer(reply);
    expect((await releasing).value).toEqual(expected);
  });

  it('answers OUTCOME_UNKNOWN if the store may have carried the command out, and STORE_UNAVAILABLE if not', async () => {
    const renewing = outcomeOf(on.permits.renew(call(), 'lock', leaseId, UNCHANGED));
    await (await on.store.next('renew')).fail('unknown');
    expect((await renewing).reason).toBe('OUTCOME_UNKNOWN');
    const releasing = outcomeOf(on.permits.release(call(), 'lock', leaseId));
    await (await on.store.next('release')).fail('no');
    expect((await releasing).reason).toBe('STORE_UNAVAILABLE');
    // A read changes nothing, so the answer is never OUTCOME_UNKNOWN.
    const inspecting = outcomeOf(on.permits.inspect(call(), 'lock', 'hello'));
    await (await on.store.next('inspect')).fail('unknown');
    expect((await inspecting).reason).toBe('STORE_UNAVAILABLE');
  });

  it('answers INVALID_FIELD to a lease_id of another service, and to an invalid lease_id', async () => {
    expect((await outcomeOf(on.permits.renew(call(), 'semaphore', leaseId, UNCHANGED))).reason).toBe(
      'INVALID_FIELD',
    );
    expect((await outcomeOf(on.permits.release(call(), 'lock', `${leaseId}A`))).reason).toBe('INVALID_FIELD');
    expect(on.store.count('renew') + on.store.count('release')).toBe(0);
  });
});
