import type { AcquireRequest } from '../../../src/engine/leases/requests';
import { answerTouch, EngineFixture, letWait, type Pending } from '../../support/engine-fixture';
import { ALICE, type FakeCallOptions } from '../../support/fake-call';
import { grantedAt, NOBODY } from '../../support/fake-store';
import { settled } from '../../support/manual-clock';

const HELLO = { service: 'lock', name: 'hello' } as const;
const RHO = 0.0005;
const id = (n: number) => `0190a0a0-0000-7000-8000-${String(n).padStart(12, '0')}`;

describe('a call that waits', () => {
  let on: EngineFixture;
  beforeEach(() => {
    on = EngineFixture.onFakeStore({ maxWaitingCallsPerConnection: 3 });
  });

  const hint = (requestId = ALICE) => on.store.listener?.recheck(HELLO, requestId);

  async function waiting(values: Partial<AcquireRequest> = {}, options: FakeCallOptions = {}) {
    const pending = on.acquire(values, options);
    const sent = await letWait(on);
    return { pending, sent };
  }

  describe('is granted', () => {
    it('by a hint and a claim; the offset has the claim as its base', async () => {
      const { pending, sent } = await waiting();
      await on.clock.advance(700);
      hint();
      const claim = await on.store.next('claim');
      expect(claim.command).toMatchObject({ requestId: ALICE, attach: sent.command.attach, ticket: '1000' });
      expect(claim.command).toMatchObject({ secret: sent.command.secret, permits: sent.command.permits });
      await on.clock.advance(30);
      await claim.answer(grantedAt(claim.at, { fencingToken: 12n }));
      expect(pending.value.fencingToken).toBe(12n);
      expect(pending.value.expireOffsetMs).toBeCloseTo(30_700 * (1 - RHO), 6);
      on.expectRest();
    });

    it('within a second though the hint was lost: the touch brings it', async () => {
      const { pending } = await waiting();
      await on.clock.advance(1000);
      const touch = await on.store.next('touch');
      expect(touch.command).toMatchObject([{ requestId: ALICE }]);
      await touch.answer({ snapshot: NOBODY, waiters: ['recheck'] });
      const claim = await on.store.next('claim');
      await claim.answer(grantedAt(claim.at));
      expect(pending.outcome).toBe('OK');
      on.expectRest();
    });

    it('by a hint that overtook the reply which says that it waits', async () => {
      on.acquire();
      const sent = await on.store.next('acquire');
      hint();
      await sent.answer({ kind: 'waiting', sentAt: sent.at, ticket: '1', position: 1, snapshot: NOBODY });
      expect(on.store.underWay).toEqual(['claim']);
    });

    it('once, however many hints come', async () => {
      const { pending } = await waiting();
      hint();
      hint();
      const claim = await on.store.next('claim');
      hint();
      await claim.answer(grantedAt(claim.at));
      hint();
      await settled();
      expect(pending.outcome).toBe('OK');
      expect(on.store.count('claim')).toBe(1);
    });

    it('at the next hint, if the claim finds that it waits still, at the place that the claim gave', async () => {
      const { pending } = await waiting();
      hint();
      const first = await on.store.next('claim');
      await first.answer({
        kind: 'waiting',
        sentAt: first.at,
        ticket: '2000',
        position: 2,
        snapshot: NOBODY,
      });
      expect(pending.outcome).toBe('waiting');
      hint();
      const second = await on.store.next('claim');
      expect(second.command.ticket).toBe('2000');
      await second.answer(grantedAt(second.at));
      expect(pending.outcome).toBe('OK');
    });

    it('although a claim failed: it asks again soon', async () => {
      const { pending } = await waiting();
      hint();
      await (await on.store.next('claim')).fail('unknown');
      expect(pending.outcome).toBe('waiting');
      await on.clock.advance(260);
      const claim = await on.store.next('claim');
      await claim.answer(grantedAt(claim.at));
      expect(pending.outcome).toBe('OK');
      on.expectRest();
    });
  });

  it.each([
    [{ kind: 'superseded' }, 'SUPERSEDED'],
    [{ kind: 'finished', cause: 'expired' }, 'REQUEST_FINISHED'],
    [{ kind: 'never-fits', limit: 2 }, 'NEVER_FITS'],
    [{ kind: 'unknown-resource' }, 'NO_SUCH_SEMAPHORE'],
  ] as const)('and finds by its claim %j ends with %s', async (reply, reason) => {
    const { pending } = await waiting();
    hint();
    await (await on.store.next('claim')).answer(reply);
    expect(pending.outcome).toBe(reason);
    on.expectRest();
  });

  describe('is kept alive', () => {
    it('by a touch each second', async () => {
      await waiting();
      for (let second = 1; second <= 5; second += 1) {
        await on.clock.advance(990);
        expect(on.store.count('touch')).toBe(second - 1);
        await on.clock.advance(10);
        await answerTouch(on);
      }
    });

    it('and asks once more when the earliest lease ends, just after it', async () => {
      await waiting();
      await on.clock.advance(1000);
      await answerTouch(on, [1], { ...NOBODY, earliestEndMs: 333 });
      await on.clock.advance(333);
      expect(on.store.underWay).toEqual([]);
      await on.clock.advance(15);
      expect(on.store.underWay).toEqual(['touch']);
    });

    it('from the first reply on, which names the earliest end too', async () => {
      on.acquire();
      await letWait(on, { snapshot: { ...NOBODY, earliestEndMs: 100 } });
      await on.clock.advance(100);
      expect(on.store.underWay).toEqual([]);
      await on.clock.advance(15);
      expect(on.store.underWay).toEqual(['touch']);
    });

    it('but not by a storm of touches, when the earliest end lies in the past', async () => {
      await waiting();
      await on.clock.advance(1000);
      for (let i = 0; i < 20; i += 1) {
        await answerTouch(on, [1], { ...NOBODY, earliestEndMs: 0 });
        await on.clock.advance(30);
      }
      expect(on.store.count('touch')).toBeLessThanOrEqual(21);
    });

    it('soon again after a touch that failed', async () => {
      await waiting();
      await on.clock.advance(1000);
      await (await on.store.next('touch')).fail();
      await on.clock.advance(260);
      expect(on.store.underWay).toEqual(['touch']);
    });

    it('by one touch at a time, however slow the store is', async () => {
      await waiting();
      await on.clock.advance(5000);
      expect(on.store.underWay).toEqual(['touch']);
    });

    it('by touches that others who come to wait do not put off', async () => {
      await waiting();
      for (let i = 0; i < 9; i += 1) {
        await on.clock.advance(200);
        on.acquire({ requestId: id(i) });
        await letWait(on);
        while (on.store.underWay.includes('touch')) await answerTouch(on);
      }
      expect(on.store.count('touch')).toBe(1);
    });

    it('and where a lease that was handed over ends before the next one, as it ends', async () => {
      const { pending } = await waiting();
      hint();
      const claim = await on.store.next('claim');
      await claim.answer(grantedAt(claim.at, { remainingMs: 300, ttlMs: 300 }));
      expect(pending.outcome).toBe('OK');
      await on.clock.advance(300);
      expect(on.store.underWay).toEqual([]);
      await on.clock.advance(20);
      const touch = await on.store.next('touch');
      expect(touch.command).toEqual([]);
      await touch.answer({ snapshot: NOBODY, waiters: [] });
      on.expectRest();
    });

    it('and a defect of a touch is reported, and the next one comes all the same', async () => {
      const { pending } = await waiting();
      await on.clock.advance(1000);
      const defect = new Error('a script failed');
      await (await on.store.next('touch')).throw(defect);
      expect(on.defects).toEqual([defect]);
      await on.clock.advance(1000);
      expect(on.store.underWay).toEqual(['touch']);
      expect(pending.outcome).toBe('waiting');
    });
  });

  it.each([
    ['its semaphore is deleted', undefined, 'NO_SUCH_SEMAPHORE'],
    ['its limit is lowered too far', 2, 'NEVER_FITS'],
    ['its semaphore is paused', 0, 'CONTENDED'],
  ])('and ends just as %s says so', async (_, limit, reason) => {
    const pending = on.acquire({ permitCount: 3, waitTimeoutMs: 500 }, {}, 'semaphore');
    await letWait(on);
    await on.clock.advance(510);
    await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot: { ...NOBODY, limit } });
    expect(pending.outcome).toBe(reason);
  });

  describe('with many others of its server on one name', () => {
    async function crowd(count: number): Promise<Pending<unknown>[]> {
      const all: Pending<unknown>[] = [];
      for (let n = 0; n < count; n += 1) {
        all.push(on.hold({ requestId: id(n) }));
        await letWait(on, { position: n + 1 });
      }
      return all;
    }

    it('is asked after in turn, 64 at a time', async () => {
      await crowd(150);
      const asked: string[] = [];
      for (let round = 0; round < 3; round += 1) {
        await on.clock.advance(1000);
        const touch = await answerTouch(on);
        expect(touch.command.length).toBeLessThanOrEqual(64);
        asked.push(...touch.command.map(({ requestId }) => requestId));
      }
      expect(new Set(asked).size).toBe(150);
    });

    it('is asked after at once with all the others, when the store has forgotten them', async () => {
      await crowd(150);
      await on.clock.advance(1000);
      for (let batch = 0; batch < 3; batch += 1) {
        const touch = await on.store.next('touch');
        await touch.answer({ snapshot: NOBODY, waiters: touch.command.map(() => 'recheck') });
      }
      expect(on.store.count('claim')).toBe(150);
    });
  });

  it('goes on where a bounded script stopped: the queue is touched at once', async () => {
    await waiting();
    on.store.listener?.workLeft(HELLO);
    expect(on.store.underWay).toEqual(['touch']);
    on.store.listener?.workLeft(HELLO);
    await answerTouch(on, []);
    expect(on.store.underWay).toEqual(['touch']);
  });

  it('also for names that nobody here waits for', async () => {
    on.store.listener?.workLeft(HELLO);
    const touch = await on.store.next('touch');
    expect(touch.command).toEqual([]);
    // The reply itself asks for the next step.
    on.store.listener?.workLeft(HELLO);
    on.store.listener?.workLeft(HELLO);
    expect(on.store.underWay).toEqual([]);
    await touch.answer({ snapshot: NOBODY, waiters: [] });
    expect(on.store.underWay).toEqual(['touch']);
    await answerTouch(on, []);
    on.expectRest();
  });

  describe('is superseded', () => {
    it('when a touch says so', async () => {
      const { pending } = await waiting();
      await on.clock.advance(1000);
      await answerTouch(on, ['superseded']);
      expect(pending.outcome).toBe('SUPERSEDED');
      expect(on.store.count('withdraw')).toBe(0);
      on.expectRest();
    });

    it('by a newer call for the same request on this server, which then waits in its place', async () => {
      const { pending: older } = await waiting();
      const { pending: newer } = await waiting();
      await settled();
      expect(older.outcome).toBe('SUPERSEDED');
      hint();
      const claim = await on.store.next('claim');
      await claim.answer(grantedAt(claim.at));
      expect(newer.outcome).toBe('OK');
      on.expectRest();
    });
  });

  describe('is cancelled', () => {
    it('and gives back its place and what it may have been offered', async () => {
      const { pending, sent } = await waiting();
      pending.call.cancel();
      const back = await on.store.next('withdraw');
      expect(back.command).toMatchObject({ attach: sent.command.attach, giveBack: true });
      await back.answer({ kind: 'withdrawn', snapshot: NOBODY });
      expect(pending.over).toBe(true);
      on.expectRest();
    });

    it('before the store had answered, and gives a grant back that came all the same', async () => {
      const pending = on.acquire();
      const sent = await on.store.next('acquire');
      pending.call.cancel();
      await sent.answer(grantedAt(sent.at));
      expect((await on.store.next('withdraw')).command.giveBack).toBe(true);
      expect(pending.result).toBeUndefined();
    });

    it('before the store had answered, and gives back the place that came all the same', async () => {
      const pending = on.acquire();
      const sent = await on.store.next('acquire');
      pending.call.cancel();
      await sent.answer({ kind: 'waiting', sentAt: sent.at, ticket: '1', position: 1, snapshot: NOBODY });
      expect((await on.store.next('withdraw')).command.giveBack).toBe(true);
    });

    it('during its claim, and gives the grant back', async () => {
      const { pending } = await waiting();
      hint();
      const claim = await on.store.next('claim');
      pending.call.cancel();
      await claim.answer(grantedAt(claim.at));
      expect((await on.store.next('withdraw')).command.giveBack).toBe(true);
      expect(pending.result).toBeUndefined();
    });

    it('rather than granted, if both come at once', async () => {
      const { pending } = await waiting();
      hint();
      pending.call.cancel();
      await settled();
      expect(on.store.underWay.filter((verb) => verb !== 'claim')).toEqual(['withdraw']);
    });

    it('and asks again until it was told that all is back', async () => {
      const { pending } = await waiting();
      pending.call.cancel();
      await (await on.store.next('withdraw')).fail('no');
      expect(on.permits.stats().givingBackCount).toBe(1);
      await on.clock.advance(510);
      await (await on.store.next('withdraw')).answer({ kind: 'superseded' });
      on.expectRest();
    });
  });

  describe('is one of at most so many unary calls of its connection', () => {
    const connection = {};
    const nth = (n: number, values: Partial<AcquireRequest> = {}) =>
      waiting({ requestId: id(n), name: `lock ${n}`, ...values }, { connection });

    it('and one more is tried once: granted if it is free, else refused with the reason', async () => {
      for (const n of [1, 2, 3]) await nth(n);
      const free = on.acquire({ requestId: id(4) }, { connection });
      const first = await on.store.next('acquire');
      expect(first.command.wait).toBe(false);
      await first.answer(grantedAt(first.at));
      expect(free.outcome).toBe('OK');
      const held = on.acquire({ requestId: id(5) }, { connection });
      await (await on.store.next('acquire')).answer({ kind: 'refused', snapshot: NOBODY });
      expect(held.outcome).toBe('QUOTA_EXCEEDED');
      expect(held.failure.details.retryAfterMs).toBeGreaterThan(0);
    });

    it('also when they all come at the same moment', async () => {
      for (const n of [1, 2, 3, 4, 5]) on.acquire({ requestId: id(n), name: `lock ${n}` }, { connection });
      const waits: boolean[] = [];
      for (let n = 1; n <= 5; n += 1) waits.push((await on.store.next('acquire')).command.wait);
      expect(waits).toEqual([true, true, true, false, false]);
    });

    it('while those of other connections, and streams, are not counted', async () => {
      for (const n of [1, 2, 3]) await nth(n);
      on.acquire({ requestId: id(4) }, { connection: {} });
      expect((await on.store.next('acquire')).command.wait).toBe(true);
      on.hold({ requestId: id(5) }, { connection });
      expect((await on.store.next('acquire')).command.wait).toBe(true);
      on = EngineFixture.onFakeStore({ maxWaitingCallsPerConnection: 1 });
      for (const n of [6, 7]) {
        on.hold({ requestId: id(n) }, { connection });
        await letWait(on);
      }
      on.acquire({ requestId: id(8) }, { connection });
      expect((await on.store.next('acquire')).command.wait).toBe(true);
    });

    it('and makes room for the next when it ends, however it ends', async () => {
      const calls = [await nth(1), await nth(2), await nth(3)];
      calls[0]?.pending.call.cancel();
      await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot: NOBODY });
      await nth(4);
      on.store.listener?.recheck({ service: 'lock', name: 'lock 2' }, id(2));
      const claim = await on.store.next('claim');
      await claim.answer(grantedAt(claim.at));
      on.acquire({ requestId: id(5) }, { connection });
      const fifth = await on.store.next('acquire');
      expect(fifth.command.wait).toBe(true);
      await fifth.fail('no');
      on.acquire({ requestId: id(6) }, { connection });
      expect((await on.store.next('acquire')).command.wait).toBe(true);
    });
  });
});
