import { Account, Accounts, NO_QUOTAS, type Quotas } from '../../../src/base/accounts';
import { CallerUse } from '../../../src/base/callers';
import { TimerQueue } from '../../../src/flow/timer-queue';
import { CountedLeases } from '../../../src/leases/allowance';
import { encodeLeaseId, parseLeaseId } from '../../../src/leases/lease-id';
import { ALICE, FakeCall, type FakeCallOptions } from '../../support/fake-call';
import { EngineFixture, UNCHANGED } from '../../support/leases/engine-fixture';
import { type ModelStore, ModelWorld } from '../../support/leases/model-store';
import { ManualClock } from '../../support/manual-clock';

describe('a caller with quotas', () => {
  /** The quotas of leases and waiters, on a store that behaves as the scripts do. */

  const id = (n: number) => ALICE.slice(0, -4) + String(n).padStart(4, '0');

  let clock: ManualClock;
  let on: EngineFixture<ModelStore>;
  let accounts: Accounts;
  beforeEach(() => {
    clock = new ManualClock(1_000_000);
    on = new EngineFixture(clock, new ModelWorld(clock).store('s1'));
  });

  function setQuotas(quotas: Quotas): void {
    accounts = new Accounts({ quotasOf: () => quotas }, clock);
  }

  const caller = (identity = 'token:a', options: FakeCallOptions = {}): FakeCallOptions => ({
    identity,
    account: accounts.of(identity, {}),
    ...options,
  });
  const leaseCount = (identity = 'token:a') => accounts.of(identity, {}).leaseCount;

  /** Acquires the lock with this number. */
  async function acquire(n: number, options = caller(), waitTimeoutMs?: number) {
    const pending = on.acquire({ name: `lock-${n}`, requestId: id(n), waitTimeoutMs }, options);
    await clock.advance(0);
    return pending;
  }

  describe('the quota of leases', () => {
    beforeEach(() => setQuotas({ leases: 2 }));

    it('refuses the next lease without a command to the store, and names the quota and the limit', async () => {
      const first = await acquire(1);
      await acquire(2);
      const third = await acquire(3);
      expect(third.failure).toMatchObject({
        reason: 'QUOTA_EXCEEDED',
        details: { metadata: { quota: 'leases', limit: '2' } },
      });
      expect(third.failure.message).toContain('token:a has reached its quota of 2 leases');
      expect((await acquire(4, caller('token:b'))).outcome).toBe('OK');
      const call = new FakeCall(clock, caller());
      await on.permits.release(call, 'lock', first.value.leaseId);
      expect((await acquire(3)).outcome).toBe('OK');
    });

    it('does not refuse a repeated acquire of a lease that already counts', async () => {
      const first = await acquire(1);
      await acquire(2);
      const again = await acquire(1);
      expect(again.value.fencingToken).toBe(first.value.fencingToken);
      expect(leaseCount()).toBe(2);
    });

    it('counts a waiting request as the lease that the request may get', async () => {
      const holder = await acquire(1, caller('token:b'));
      const waiter = on.acquire({ name: 'lock-1', requestId: id(11), waitTimeoutMs: 60_000 }, caller());
      await clock.advance(0);
      await acquire(2);
      expect((await acquire(3)).outcome).toBe('QUOTA_EXCEEDED');
      await on.permits.release(new FakeCall(clock, caller('token:b')), 'lock', holder.value.leaseId);
      await clock.advance(2000);
      expect(waiter.outcome).toBe('OK');
      expect(leaseCount()).toBe(2);
    });

    it('forgets a lease at its end, and counts a renewed lease until its new end', async () => {
      const first = await acquire(1);
      await acquire(2);
      await clock.advance(20_000);
      await on.permits.renew(new FakeCall(clock, caller()), 'lock', first.value.leaseId, UNCHANGED);
      await clock.advance(11_000);
      expect(leaseCount()).toBe(1);
      await clock.advance(20_000);
      expect(leaseCount()).toBe(0);
      on.expectRest();
    });

    it('never refuses a renewal, and counts a lease of another server from its renewal here', async () => {
      setQuotas({ leases: 0 });
      const world = new ModelWorld(clock);
      on = new EngineFixture(clock, world.store('s1'));
      const other = new EngineFixture(clock, world.store('s2'), {}, 's2');
      const lease = other.acquire({}, { identity: 'token:a' });
      await clock.advance(0);
      const call = new FakeCall(clock, caller());
      await on.permits.renew(call, 'lock', lease.value.leaseId, UNCHANGED);
      expect(leaseCount()).toBe(1);
      await on.permits.release(call, 'lock', lease.value.leaseId);
      expect(leaseCount()).toBe(0);
    });

    it('counts the lease of a stream until the stream learns of its end', async () => {
      const stream = on.hold({ name: 'lock-1', requestId: id(1), ttlMs: 3000 }, caller());
      await clock.advance(60_000);
      expect(leaseCount()).toBe(1);
      const { leaseId } = stream.sink.events.flatMap((event) =>
        event.kind === 'granted' ? [event.lease] : [],
      )[0] as { leaseId: string };
      // Another server releases the lease, and this server learns of the end by its next renewal.
      const { resource, requestId, secret } = parseLeaseId('lock', leaseId);
      const command = { requestId, secret, identity: 'token:a', afterLoss: undefined, caller: {} };
      await on.store.release(resource, command);
      await clock.advance(2000);
      expect(stream.sink.last('released')).toBeDefined();
      expect(leaseCount()).toBe(0);
      on.expectRest();
    });

    it('counts the lease of a broken stream until its end, and never refuses an attach', async () => {
      const stream = on.hold({ name: 'lock-1', requestId: id(1) }, caller());
      await clock.advance(0);
      await acquire(2);
      const { leaseId } = stream.sink.last('granted').lease;
      stream.call.cancel();
      await clock.advance(100);
      expect(leaseCount()).toBe(2);
      const attached = on.attach(leaseId, caller());
      await clock.advance(0);
      expect(attached.sink.last('granted')).toBeDefined();
      expect(leaseCount()).toBe(2);
    });

    it('is not lowered by a release or a renewal with a wrong secret', async () => {
      const first = await acquire(1);
      const { resource, requestId } = parseLeaseId('lock', first.value.leaseId);
      const forged = encodeLeaseId({ resource, requestId, secret: 'A'.repeat(22) });
      const call = new FakeCall(clock, caller());
      expect(await on.permits.release(call, 'lock', forged)).toMatchObject({ released: false });
      await expect(on.permits.renew(call, 'lock', forged, UNCHANGED)).rejects.toThrow('not held');
      expect(leaseCount()).toBe(1);
    });

    it('counts nothing for a request that is not granted', async () => {
      await acquire(1, caller('token:b'));
      const refused = on.acquire({ name: 'lock-1', requestId: id(2), waitTimeoutMs: 0 }, caller());
      const waiter = on.acquire({ name: 'lock-1', requestId: id(3), waitTimeoutMs: 60_000 }, caller());
      await clock.advance(500);
      expect(refused.outcome).toBe('CONTENDED');
      expect(leaseCount()).toBe(1);
      waiter.call.cancel();
      await clock.advance(500);
      expect(leaseCount()).toBe(0);
    });
  });

  describe('the quota of waiters', () => {
    beforeEach(() => setQuotas({ waiters: 1 }));

    it('lets further requests only try once, and names quota and limit if the lock is not free', async () => {
      await acquire(1, caller('token:b'));
      const waiting = on.acquire({ name: 'lock-1', requestId: id(2), waitTimeoutMs: 60_000 }, caller());
      const second = on.acquire({ name: 'lock-1', requestId: id(3), waitTimeoutMs: 60_000 }, caller());
      const stream = on.hold({ name: 'lock-1', requestId: id(4), waitTimeoutMs: 60_000 }, caller());
      await clock.advance(0);
      expect([waiting.outcome, second.outcome, stream.outcome]).toEqual([
        'waiting',
        'QUOTA_EXCEEDED',
        'QUOTA_EXCEEDED',
      ]);
      expect(second.failure.details.metadata).toEqual({ quota: 'waiters', limit: '1' });
      expect(second.failure.message).toContain('lock "lock-1" is not free');
      expect((await acquire(5, caller(), 60_000)).outcome).toBe('OK');
      waiting.call.cancel();
      await clock.advance(0);
      const next = on.acquire({ name: 'lock-1', requestId: id(6), waitTimeoutMs: 60_000 }, caller());
      await clock.advance(0);
      expect(next.outcome).toBe('waiting');
    });

    it('is separate for each identity', async () => {
      await acquire(1, caller('token:b'));
      const waits = ['token:c', 'token:d'].map((identity, index) =>
        on.acquire({ name: 'lock-1', requestId: id(10 + index), waitTimeoutMs: 60_000 }, caller(identity)),
      );
      await clock.advance(0);
      expect(waits.map(({ outcome }) => outcome)).toEqual(['waiting', 'waiting']);
    });
  });
});

describe('leases without a quota', () => {
  function started(maxWithoutQuota?: number) {
    const clock = new ManualClock();
    const timers = new TimerQueue(clock);
    const leases = new CountedLeases(clock, timers, maxWithoutQuota);
    const caller = new CallerUse('token:a', '10.0.0.1', 0);
    const account = new Account('token:a', clock, () => NO_QUOTAS);
    return { clock, timers, leases, caller, account };
  }

  test('a lease without a quota counts for its caller until its end, and no timer stays', async () => {
    const { clock, timers, leases, caller } = started();
    leases.lives({ caller, account: undefined }, 'a', 500);
    leases.lives({ caller, account: undefined }, 'b', 600_000);
    leases.lives({ caller, account: undefined }, 'c', 600_000);
    leases.ended('c');
    expect(caller.leaseCount).toBe(2);
    await clock.advance(2000);
    expect(caller.leaseCount).toBe(1);
    await clock.advance(590_000);
    expect(caller.leaseCount).toBe(1);
    leases.lives({ caller, account: undefined }, 'b', 600_000);
    await clock.advance(590_000);
    expect(caller.leaseCount).toBe(1);
    await clock.advance(12_000);
    expect([caller.leaseCount, timers.size]).toEqual([0, 0]);
  });

  test('leases without a quota have few different timers, however long they live', () => {
    const { timers, leases, caller, clock } = started();
    const times = new Set<number>();
    const at = timers.at.bind(timers);
    timers.at = (time, work) => {
      times.add(time);
      return at(time, work);
    };
    for (let count = 0; count < 5000; count += 1) {
      leases.lives({ caller, account: undefined }, `lease ${count}`, 100 + count * 17_000);
    }
    expect(times.size).toBeLessThan(70);
    expect(Math.max(...times)).toBeLessThanOrEqual(clock.now() + 61_000);
    leases.close();
    expect(caller.leaseCount).toBe(0);
  });

  test('above the bound, leases without a quota do not count, and leases with a quota do', () => {
    const { leases, caller, account } = started(2);
    for (const key of ['a', 'b', 'c']) leases.lives({ caller, account: undefined }, key, 1000);
    expect(caller.leaseCount).toBe(2);
    leases.lives({ caller, account }, 'd', 1000);
    expect([caller.leaseCount, account.leaseCount]).toEqual([3, 1]);
    leases.close();
    expect([caller.leaseCount, account.leaseCount]).toEqual([0, 0]);
  });

  test('a lease that is renewed from another address counts for the caller there', () => {
    const { leases, caller } = started();
    const moved = new CallerUse('token:a', '10.0.0.2', 0);
    leases.lives({ caller, account: undefined }, 'a', 1000);
    leases.lives({ caller: moved, account: undefined }, 'a', 1000);
    expect([caller.leaseCount, moved.leaseCount]).toEqual([0, 1]);
    leases.ended('a');
    expect([caller.leaseCount, moved.leaseCount]).toEqual([0, 0]);
  });
});
