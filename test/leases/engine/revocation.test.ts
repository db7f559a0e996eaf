import type { HoldfastError } from '../../../src/base/errors';
import type { Service } from '../../../src/leases/lease';
import type { RevokeReply, RevokeTarget } from '../../../src/leases/lease-store';
import { answerWaiting, EngineFixture, UNCHANGED } from '../../support/leases/engine-fixture';
import { ALICE, FakeCall } from '../../support/fake-call';
import { grantedAt } from '../../support/leases/fake-store';
import { ManualClock, settled } from '../../support/manual-clock';
import { ModelWorld, type ModelStore } from '../../support/leases/model-store';

const ALL: RevokeTarget = { kind: 'all-holders' };
const REVOKED = { kind: 'finished', cause: 'revoked' } as const;
const id = (n: number) => `0190a0a0-0000-7000-8000-${String(n).padStart(12, '0')}`;

/** How a step of the store answers. */
const step = (
  count: number,
  values: Partial<Extract<RevokeReply, { kind: 'revoked' }>> = {},
): RevokeReply => ({
  kind: 'revoked',
  count,
  latestEndMs: undefined,
  next: undefined,
  ...values,
});
const next = (n: number) => ({ lastToken: '9', pass: 'first', endUs: String(n), requestId: id(n) });

describe('a revocation', () => {
  let on: EngineFixture;
  beforeEach(() => {
    on = EngineFixture.onFakeStore();
  });

  function start(service: Service = 'lock', target = ALL, force = false) {
    const call = new FakeCall(on.clock);
    const result = on.permits
      .revoke(call, service, { name: 'hello', target, force })
      .catch((error: unknown) => error as HoldfastError);
    return { call, result };
  }

  it('runs steps until the store is done, and adds their counts', async () => {
    const { result } = start();
    const first = await on.store.next('revoke');
    expect(first.command).toMatchObject({ target: ALL, force: false, after: undefined });
    await first.answer(step(64, { latestEndMs: 7000.5, next: next(1) }));
    const second = await on.store.next('revoke');
    expect(second.command).toMatchObject({ target: ALL, force: false, after: next(1) });
    await second.answer(step(64, { latestEndMs: 6000, next: next(2) }));
    await (await on.store.next('revoke')).answer(step(3));
    expect(await result).toEqual({ revokedCount: 131, freeTimeMs: 7000.5 });
  });

  it('finds nothing for an unused lock, and answers NO_SUCH_SEMAPHORE for an unknown semaphore', async () => {
    const lock = start('lock');
    await (await on.store.next('revoke')).answer({ kind: 'unknown-resource' });
    expect(await lock.result).toEqual({ revokedCount: 0, freeTimeMs: undefined });
    const semaphore = start('semaphore');
    await (await on.store.next('revoke')).answer({ kind: 'unknown-resource' });
    expect(await semaphore.result).toMatchObject({
      reason: 'NO_SUCH_SEMAPHORE',
      message: 'semaphore "hello" does not exist; there is nothing to revoke',
    });
  });

  it('answers the leases of the earlier steps if the semaphore is deleted between steps', async () => {
    const { result } = start('semaphore');
    await (await on.store.next('revoke')).answer(step(64, { next: next(1) }));
    await (await on.store.next('revoke')).answer({ kind: 'unknown-resource' });
    expect(await result).toMatchObject({ revokedCount: 64 });
  });

  it('answers OUTCOME_UNKNOWN if a step fails after another step has revoked leases', async () => {
    const { result } = start();
    await (await on.store.next('revoke')).answer(step(1, { next: next(1) }));
    await (await on.store.next('revoke')).fail('no');
    expect(await result).toMatchObject({ reason: 'OUTCOME_UNKNOWN', details: { metadata: {} } });
    const untouched = start();
    await (await on.store.next('revoke')).fail('no');
    expect(await untouched.result).toMatchObject({ reason: 'STORE_UNAVAILABLE' });
    const unknown = start();
    await (await on.store.next('revoke')).fail('unknown');
    expect(await unknown.result).toMatchObject({ reason: 'OUTCOME_UNKNOWN' });
    const defect = start();
    await (await on.store.next('revoke')).answer(step(1, { next: next(1) }));
    await (await on.store.next('revoke')).throw(new TypeError('a bug'));
    expect(await defect.result).toBeInstanceOf(TypeError);
  });

  it('stops after a minute, or when its caller is gone', async () => {
    const slow = start();
    for (const waitedMs of [30_000, 30_000, 1]) {
      await on.clock.advance(waitedMs);
      await (await on.store.next('revoke')).answer(step(0, { next: next(1) }));
    }
    expect(await slow.result).toMatchObject({ reason: 'OUTCOME_UNKNOWN' });
    const gone = start();
    gone.call.cancel();
    await (await on.store.next('revoke')).answer(step(64, { next: next(1) }));
    await gone.result;
    expect(on.store.inFlight).toEqual([]);
  });

  describe('of a waiting request', () => {
    const waiting = { unary: () => on.acquire(), stream: () => on.hold() };

    it.each(['unary', 'stream'] as const)(
      'ends the %s call with LEASE_LOST and cause REVOKED',
      async (kind) => {
        const pending = waiting[kind]();
        await answerWaiting(on);
        on.store.listener?.recheck({ service: 'lock', name: 'hello' }, ALICE);
        await (await on.store.next('claim')).answer(REVOKED);
        expect(pending.failure).toMatchObject({
          reason: 'LEASE_LOST',
          details: { metadata: { cause: 'REVOKED' } },
        });
        expect(pending.failure.message).toContain('an operator has revoked this request for lock "hello"');
        expect(pending.sink.kinds).not.toContain('lost');
        on.expectRest();
      },
    );

    it('ends the call with LEASE_LOST if its withdrawal finds the revocation', async () => {
      const pending = on.acquire({ waitTimeoutMs: 100 });
      await answerWaiting(on);
      await on.clock.advance(100);
      await (await on.store.next('withdraw')).answer(REVOKED);
      expect(pending.outcome).toBe('LEASE_LOST');
    });

    it('answers REQUEST_FINISHED to a new call with the same request_id', async () => {
      const pending = on.acquire();
      await (await on.store.next('acquire')).answer(REVOKED);
      expect(pending.outcome).toBe('REQUEST_FINISHED');
    });
  });

  it('of a lease that the waiting call has not reported: the call gives the lease back, and ends', async () => {
    const pending = on.acquire();
    await answerWaiting(on);
    on.store.listener?.recheck({ service: 'lock', name: 'hello' }, ALICE);
    await (await on.store.next('claim')).answer({ ...REVOKED, returnable: 7n });
    const back = await on.store.next('withdraw');
    expect(back.command).toMatchObject({ giveBack: true, fencingToken: 7n });
    await back.answer(REVOKED);
    await (await on.store.next('claim')).answer(REVOKED);
    expect(pending.outcome).toBe('LEASE_LOST');
    on.expectRest();
  });

  it('of a lease that the first reply has reported: the call gives the lease back, and ends', async () => {
    const pending = on.acquire();
    await (await on.store.next('acquire')).answer({ ...REVOKED, returnable: 7n });
    await (await on.store.next('withdraw')).answer(REVOKED);
    expect(pending.outcome).toBe('LEASE_LOST');
    on.expectRest();
  });

  it('of a lease that is granted while its hint arrives: the stream renews immediately, and learns of the revocation', async () => {
    const stream = on.hold();
    const sent = await answerWaiting(on);
    const resource = { service: 'lock', name: 'hello' } as const;
    on.store.listener?.granted(resource, sent.command, grantedAt(on.clock.now()));
    on.store.listener?.recheck(resource, ALICE);
    await settled();
    expect(stream.sink.kinds).toEqual(['queued', 'granted']);
    await (await on.store.next('renew')).answer(REVOKED);
    await settled();
    expect(stream.sink.last('lost')).toMatchObject({ cause: 'revoked', at: on.clock.now() });
    expect(stream.outcome).toBe('LEASE_LOST');
    on.expectRest();
  });

  it('by a new policy: the stream ends immediately, and one step finds the lease by its request', async () => {
    const stream = on.hold();
    const sent = await on.store.next('acquire');
    await sent.answer(grantedAt(sent.at, { fencingToken: 7n }));
    stream.call.refuse();
    const revoking = await on.store.next('revoke');
    expect(revoking.command).toMatchObject({
      target: { kind: 'lease', requestId: ALICE, fencingToken: 7n },
      force: false,
      after: undefined,
    });
    await revoking.answer(step(1));
    expect(stream.outcome).toBe('LEASE_LOST');
    on.expectRest();
  });

  it('sends no late release after a revocation, because the lease keeps its permits to its end', async () => {
    const stream = on.hold();
    const sent = await on.store.next('acquire');
    await sent.answer(grantedAt(sent.at));
    on.store.listener?.recheck({ service: 'lock', name: 'hello' }, ALICE);
    await (await on.store.next('renew')).answer(REVOKED);
    await on.clock.advance(120_000);
    expect(stream.outcome).toBe('LEASE_LOST');
    expect(on.store.count('release')).toBe(0);
    on.expectRest();
  });
});

describe('a revocation on one of two servers', () => {
  let clock: ManualClock;
  let world: ModelWorld;
  let s1: EngineFixture<ModelStore>;
  let s2: EngineFixture<ModelStore>;
  beforeEach(() => {
    clock = new ManualClock(1_000_000);
    world = new ModelWorld(clock);
    s1 = new EngineFixture(clock, world.store('s1'), {}, 's1');
    s2 = new EngineFixture(clock, world.store('s2'), {}, 's2');
  });

  const revoke = (target: RevokeTarget, force = false) =>
    s2.permits.revoke(new FakeCall(clock), 'lock', { name: 'hello', target, force });

  it.each([true, false])('ends the stream on the other server immediately (force: %p)', async (force) => {
    const alice = s1.hold({ requestId: id(1), ttlMs: 30_000 });
    await clock.advance(1000);
    const bob = s2.acquire({ requestId: id(2) });
    await clock.advance(0);
    const freeTimeMs = world.nowUs / 1000 + 29_000;
    expect(await revoke(ALL, force)).toEqual({ revokedCount: 1, freeTimeMs: force ? undefined : freeTimeMs });
    await clock.advance(0);
    expect(alice.sink.last('lost')).toMatchObject({ cause: 'revoked', at: clock.now() });
    expect(alice.outcome).toBe('LEASE_LOST');
    expect(bob.outcome).toBe(force ? 'OK' : 'waiting');
    if (!force) {
      await clock.advance(28_999);
      expect(bob.outcome).toBe('waiting');
      await clock.advance(50);
    }
    expect(bob.outcome).toBe('OK');
    s1.expectRest(true);
    s2.expectRest(true);
  });

  it('ends the stream at its next renewal if the hint is lost', async () => {
    world.hints = false;
    const alice = s1.hold({ requestId: id(1), ttlMs: 30_000 });
    await clock.advance(1000);
    await revoke(ALL);
    await clock.advance(9000);
    expect(alice.sink.last('lost')).toMatchObject({ cause: 'revoked' });
  });

  it('refuses renewals and attaches by lease_id, and lets the holder release the lease', async () => {
    const alice = s1.acquire({ requestId: id(1) });
    await clock.advance(0);
    const { leaseId, fencingToken } = alice.value;
    await revoke({ kind: 'token', fencingToken });
    const renewing = s1.permits
      .renew(alice.call, 'lock', leaseId, UNCHANGED)
      .catch((error: unknown) => error);
    expect(await renewing).toMatchObject({
      reason: 'LEASE_NOT_HELD',
      details: { metadata: { cause: 'REVOKED' } },
    });
    const attaching = s2.attach(leaseId);
    const again = s2.acquire({ requestId: id(1) });
    await clock.advance(0);
    expect([attaching.outcome, again.outcome]).toEqual(['LEASE_NOT_HELD', 'REQUEST_FINISHED']);
    const bob = s2.acquire({ requestId: id(2) });
    await clock.advance(0);
    expect(bob.outcome).toBe('waiting');
    expect(await s1.permits.release(alice.call, 'lock', leaseId)).toEqual({
      released: true,
      lossCause: undefined,
    });
    await clock.advance(0);
    expect(bob.outcome).toBe('OK');
  });

  it('ends the call of a waiter behind 99 waiters of its server within three seconds if the hint is lost', async () => {
    world.hints = false;
    s2.acquire({ requestId: id(1) });
    await clock.advance(0);
    const waiters = Array.from({ length: 100 }, (_, i) => s1.acquire({ requestId: id(i + 2) }));
    await clock.advance(1500);
    const one = waiters[98];
    const { queuedAt = 0 } = world.model({ service: 'lock', name: 'hello' }).queue()[98] ?? {};
    await revoke({ kind: 'waiter', position: 99, enqueueTimeUs: BigInt(queuedAt) });
    await clock.advance(3000);
    expect(one?.outcome).toBe('LEASE_LOST');
    expect(waiters.filter(({ outcome }) => outcome === 'waiting')).toHaveLength(99);
  });

  it('keeps a waiter out of the queue if its server learns of the revocation after its tombstone is forgotten', async () => {
    const alice = s2.hold({ requestId: id(1) });
    await clock.advance(0);
    const bob = s1.acquire({ requestId: id(2) });
    await clock.advance(1500);
    const { queuedAt = 0 } = world.model({ service: 'lock', name: 'hello' }).queue()[0] ?? {};
    world.hints = false;
    // The link of the waiter's server is cut.
    world.outcomeOf = (_verb, server) => (server === 's1' ? 'not-arrived' : 'answered');
    await revoke({ kind: 'waiter', position: 1, enqueueTimeUs: BigInt(queuedAt) });
    await clock.advance(61_000);
    world.outcomeOf = () => 'answered';
    await clock.advance(2000);
    expect([bob.outcome, alice.outcome]).toEqual(['LEASE_LOST', 'waiting']);
    expect(world.model({ service: 'lock', name: 'hello' }).queue()).toEqual([]);
  });

  it('takes a waiter out of the queue of the other server, by the time that GetLock shows', async () => {
    s2.acquire({ requestId: id(1) });
    await clock.advance(0);
    const [bob, carol] = [s1.hold({ requestId: id(2) }), s1.acquire({ requestId: id(3) })];
    await clock.advance(1500);
    const view = await s2.permits.inspect(new FakeCall(clock), 'lock', 'hello');
    const enqueueTimeUs = BigInt(Math.round((view.waiters[0]?.enqueueTimeMs ?? 0) * 1000));
    await revoke({ kind: 'waiter', position: 1, enqueueTimeUs });
    await clock.advance(0);
    expect([bob.outcome, carol.outcome]).toEqual(['LEASE_LOST', 'waiting']);
    const again = s1.acquire({ requestId: id(2) });
    await clock.advance(0);
    expect(again.outcome).toBe('REQUEST_FINISHED');
  });
});
