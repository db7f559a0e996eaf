import { expireOffsetMs } from '../../../src/leases/lease';
import type { AcquireRequest } from '../../../src/leases/lease-requests';
import { answerTouch, answerWaiting, EngineFixture, type Pending } from '../../support/leases/engine-fixture';
import { ALICE, type FakeCallOptions } from '../../support/fake-call';
import { grantedAt, EMPTY_SNAPSHOT } from '../../support/leases/fake-store';
import { settled } from '../../support/manual-clock';

const HELLO = { service: 'lock', name: 'hello' } as const;
const RHO = 0.0005;
const id = (n: number) => `0190a0a0-0000-7000-8000-${String(n).padStart(12, '0')}`;

describe('a waiting call', () => {
  let on: EngineFixture;
  beforeEach(() => {
    on = EngineFixture.onFakeStore({ maxWaitingCallsPerConnection: 3 });
  });

  const hint = (requestId = ALICE) => on.store.listener?.recheck(HELLO, requestId);

  async function waiting(values: Partial<AcquireRequest> = {}, options: FakeCallOptions = {}) {
    const pending = on.acquire(values, options);
    const sent = await answerWaiting(on);
    return { pending, sent };
  }

  describe('when the lock becomes free', () => {
    it('is granted by a claim after a hint, with an expire_offset from the claim', async () => {
      const { pending, sent } = await waiting();
      await on.clock.advance(700);
      hint();
      const claim = await on.store.next('claim');
      expect(claim.command).toMatchObject({ requestId: ALICE, attach: sent.command.attach, ticket: '1000' });
      expect(claim.command).toMatchObject({ secret: sent.command.secret, permits: sent.command.permits });
      await on.clock.advance(30);
      await claim.answer(grantedAt(claim.at, { fencingToken: 12n }));
      expect(pending.value.fencingToken).toBe(12n);
      expect(expireOffsetMs(pending.call.receivedAt, pending.value.end)).toBeCloseTo(30_700 * (1 - RHO), 6);
      on.expectRest();
    });

    it('is granted within a second if the hint was lost, because the next touch is answered "recheck"', async () => {
      const { pending } = await waiting();
      await on.clock.advance(1000);
      const touch = await on.store.next('touch');
      expect(touch.command).toMatchObject([{ requestId: ALICE }]);
      await touch.answer({ snapshot: EMPTY_SNAPSHOT, waiters: ['recheck'] });
      const claim = await on.store.next('claim');
      await claim.answer(grantedAt(claim.at));
      expect(pending.outcome).toBe('OK');
      on.expectRest();
    });

    it('is granted after a hint that came before the reply to its acquire', async () => {
      on.acquire();
      const sent = await on.store.next('acquire');
      hint();
      await sent.answer({
        kind: 'waiting',
        sentAt: sent.at,
        ticket: '1',
        position: 1,
        snapshot: EMPTY_SNAPSHOT,
      });
      expect(on.store.inFlight).toEqual(['claim']);
    });

    it('is granted by one claim, even after many hints', async () => {
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

    it('claims again with the new ticket after the store answered that the request still waits', async () => {
      const { pending } = await waiting();
      hint();
      const first = await on.store.next('claim');
      await first.answer({
        kind: 'waiting',
        sentAt: first.at,
        ticket: '2000',
        position: 2,
        snapshot: EMPTY_SNAPSHOT,
      });
      expect(pending.outcome).toBe('waiting');
      hint();
      const second = await on.store.next('claim');
      expect(second.command.ticket).toBe('2000');
      await second.answer(grantedAt(second.at));
      expect(pending.outcome).toBe('OK');
    });

    it('is granted by a second claim 250 ms after a claim without a reply', async () => {
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
  ] as const)('ends after the reply %j to its claim with %s', async (reply, reason) => {
    const { pending } = await waiting();
    hint();
    await (await on.store.next('claim')).answer(reply);
    expect(pending.outcome).toBe(reason);
    on.expectRest();
  });

  describe('in the queue', () => {
    it('is touched every second', async () => {
      await waiting();
      for (let second = 1; second <= 5; second += 1) {
        await on.clock.advance(990);
        expect(on.store.count('touch')).toBe(second - 1);
        await on.clock.advance(10);
        await answerTouch(on);
      }
    });

    it('is touched just after the earliest lease ends', async () => {
      await waiting();
      await on.clock.advance(1000);
      await answerTouch(on, [1], { ...EMPTY_SNAPSHOT, earliestEndMs: 333 });
      await on.clock.advance(333);
      expect(on.store.inFlight).toEqual([]);
      await on.clock.advance(15);
      expect(on.store.inFlight).toEqual(['touch']);
    });

    it('is touched just after the earliest end in the reply to its acquire', async () => {
      on.acquire();
      await answerWaiting(on, { snapshot: { ...EMPTY_SNAPSHOT, earliestEndMs: 100 } });
      await on.clock.advance(100);
      expect(on.store.inFlight).toEqual([]);
      await on.clock.advance(15);
      expect(on.store.inFlight).toEqual(['touch']);
    });

    it('is touched at most every 25 ms if the earliest end has passed', async () => {
      await waiting();
      await on.clock.advance(1000);
      for (let i = 0; i < 20; i += 1) {
        await answerTouch(on, [1], { ...EMPTY_SNAPSHOT, earliestEndMs: 0 });
        await on.clock.advance(30);
      }
      expect(on.store.count('touch')).toBeLessThanOrEqual(21);
    });

    it('is touched again 250 ms after a touch that failed', async () => {
      await waiting();
      await on.clock.advance(1000);
      await (await on.store.next('touch')).fail();
      await on.clock.advance(260);
      expect(on.store.inFlight).toEqual(['touch']);
    });

    it('has at most one touch in flight, even if the store is slow', async () => {
      await waiting();
      await on.clock.advance(5000);
      expect(on.store.inFlight).toEqual(['touch']);
    });

    it('is touched on time even while new calls join the queue', async () => {
      await waiting();
      for (let i = 0; i < 9; i += 1) {
        await on.clock.advance(200);
        on.acquire({ requestId: id(i) });
        await answerWaiting(on);
        while (on.store.inFlight.includes('touch')) await answerTouch(on);
      }
      expect(on.store.count('touch')).toBe(1);
    });

    it('causes a touch without waiters at the end of its lease, if the lease is shorter than a second', async () => {
      const { pending } = await waiting();
      hint();
      const claim = await on.store.next('claim');
      await claim.answer(grantedAt(claim.at, { remainingMs: 300, ttlMs: 300 }));
      expect(pending.outcome).toBe('OK');
      await on.clock.advance(300);
      expect(on.store.inFlight).toEqual([]);
      await on.clock.advance(20);
      const touch = await on.store.next('touch');
      expect(touch.command).toEqual([]);
      await touch.answer({ snapshot: EMPTY_SNAPSHOT, waiters: [] });
      on.expectRest();
    });

    it('is touched again a second after a touch that threw a defect, and the defect is reported', async () => {
      const { pending } = await waiting();
      await on.clock.advance(1000);
      const defect = new Error('a script failed');
      await (await on.store.next('touch')).throw(defect);
      expect(on.defects).toEqual([defect]);
      await on.clock.advance(1000);
      expect(on.store.inFlight).toEqual(['touch']);
      expect(pending.outcome).toBe('waiting');
    });
  });

  it.each([
    ['deleted', 'NO_SUCH_SEMAPHORE', undefined],
    ['lowered to a limit below permit_count', 'NEVER_FITS', 2],
    ['paused by the limit 0', 'CONTENDED', 0],
  ])('ends its wait for a semaphore that was %s with %s', async (_, reason, limit) => {
    const pending = on.acquire({ permitCount: 3, waitTimeoutMs: 500 }, {}, 'semaphore');
    await answerWaiting(on);
    await on.clock.advance(510);
    await (
      await on.store.next('withdraw')
    ).answer({ kind: 'withdrawn', snapshot: { ...EMPTY_SNAPSHOT, limit } });
    expect(pending.outcome).toBe(reason);
  });

  describe('among 150 waiting calls on one name', () => {
    async function waitingCalls(count: number): Promise<Pending<unknown>[]> {
      const all: Pending<unknown>[] = [];
      for (let n = 0; n < count; n += 1) {
        all.push(on.hold({ requestId: id(n) }));
        await answerWaiting(on, { position: n + 1 });
      }
      return all;
    }

    it('is touched in turn with the others, 64 calls at a time', async () => {
      await waitingCalls(150);
      const asked: string[] = [];
      for (let round = 0; round < 3; round += 1) {
        await on.clock.advance(1000);
        const touch = await answerTouch(on);
        expect(touch.command.length).toBeLessThanOrEqual(64);
        asked.push(...touch.command.map(({ requestId }) => requestId));
      }
      expect(new Set(asked).size).toBe(150);
    });

    it('is touched and claimed together with all other calls if the store has lost the queue', async () => {
      await waitingCalls(150);
      await on.clock.advance(1000);
      for (let batch = 0; batch < 3; batch += 1) {
        const touch = await on.store.next('touch');
        await touch.answer({ snapshot: EMPTY_SNAPSHOT, waiters: touch.command.map(() => 'recheck') });
      }
      expect(on.store.count('claim')).toBe(150);
    });
  });

  it('is touched immediately if a bounded script has left work', async () => {
    await waiting();
    on.store.listener?.workLeft(HELLO);
    expect(on.store.inFlight).toEqual(['touch']);
    on.store.listener?.workLeft(HELLO);
    await answerTouch(on, []);
    expect(on.store.inFlight).toEqual(['touch']);
  });

  it('of another server also causes touches, one step at a time, until no work is left', async () => {
    on.store.listener?.workLeft(HELLO);
    const touch = await on.store.next('touch');
    expect(touch.command).toEqual([]);
    // The reply to the first touch says that work is left.
    on.store.listener?.workLeft(HELLO);
    on.store.listener?.workLeft(HELLO);
    expect(on.store.inFlight).toEqual([]);
    await touch.answer({ snapshot: EMPTY_SNAPSHOT, waiters: [] });
    expect(on.store.inFlight).toEqual(['touch']);
    await answerTouch(on, []);
    on.expectRest();
  });

  describe('that is superseded', () => {
    it('ends with SUPERSEDED if a touch is answered "superseded"', async () => {
      const { pending } = await waiting();
      await on.clock.advance(1000);
      await answerTouch(on, ['superseded']);
      expect(pending.outcome).toBe('SUPERSEDED');
      expect(on.store.count('withdraw')).toBe(0);
      on.expectRest();
    });

    it('ends with SUPERSEDED if a newer call has the same request id on this server', async () => {
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

  describe('that is cancelled', () => {
    it('gives its place and a possible offer back', async () => {
      const { pending, sent } = await waiting();
      pending.call.cancel();
      const back = await on.store.next('withdraw');
      expect(back.command).toMatchObject({ attach: sent.command.attach, giveBack: true });
      await back.answer({ kind: 'withdrawn', snapshot: EMPTY_SNAPSHOT });
      expect(pending.over).toBe(true);
      on.expectRest();
    });

    it('gives back a grant that arrives later', async () => {
      const pending = on.acquire();
      const sent = await on.store.next('acquire');
      pending.call.cancel();
      await sent.answer(grantedAt(sent.at));
      expect((await on.store.next('withdraw')).command.giveBack).toBe(true);
      expect(pending.result).toBeUndefined();
    });

    it('withdraws its place in the queue if the place is answered after the cancellation', async () => {
      const pending = on.acquire();
      const sent = await on.store.next('acquire');
      pending.call.cancel();
      await sent.answer({
        kind: 'waiting',
        sentAt: sent.at,
        ticket: '1',
        position: 1,
        snapshot: EMPTY_SNAPSHOT,
      });
      expect((await on.store.next('withdraw')).command.giveBack).toBe(true);
    });

    it('gives back the grant of a claim in flight', async () => {
      const { pending } = await waiting();
      hint();
      const claim = await on.store.next('claim');
      pending.call.cancel();
      await claim.answer(grantedAt(claim.at));
      expect((await on.store.next('withdraw')).command.giveBack).toBe(true);
      expect(pending.result).toBeUndefined();
    });

    it('gives its place back, and claims no offer of a hint that comes at the same moment', async () => {
      const { pending } = await waiting();
      hint();
      pending.call.cancel();
      await settled();
      expect(on.store.inFlight.filter((verb) => verb !== 'claim')).toEqual(['withdraw']);
    });

    it('sends its withdrawal again after a failure, until the store answers', async () => {
      const { pending } = await waiting();
      pending.call.cancel();
      await (await on.store.next('withdraw')).fail('no');
      expect(on.permits.stats().givingBackCount).toBe(1);
      await on.clock.advance(510);
      await (await on.store.next('withdraw')).answer({ kind: 'superseded' });
      on.expectRest();
    });
  });

  describe('beyond the maximum of waiting unary calls on its connection', () => {
    const connection = {};
    const nth = (n: number, values: Partial<AcquireRequest> = {}) =>
      waiting({ requestId: id(n), name: `lock ${n}`, ...values }, { connection });

    it('does not wait: a free lock is granted, a held lock is answered with QUOTA_EXCEEDED', async () => {
      for (const n of [1, 2, 3]) await nth(n);
      const free = on.acquire({ requestId: id(4) }, { connection });
      const first = await on.store.next('acquire');
      expect(first.command.wait).toBe(false);
      await first.answer(grantedAt(first.at));
      expect(free.outcome).toBe('OK');
      const held = on.acquire({ requestId: id(5) }, { connection });
      await (await on.store.next('acquire')).answer({ kind: 'refused', snapshot: EMPTY_SNAPSHOT });
      expect(held.outcome).toBe('QUOTA_EXCEEDED');
    });

    it('does not wait, even if all calls arrive at the same moment', async () => {
      for (const n of [1, 2, 3, 4, 5]) on.acquire({ requestId: id(n), name: `lock ${n}` }, { connection });
      const waits: boolean[] = [];
      for (let n = 1; n <= 5; n += 1) waits.push((await on.store.next('acquire')).command.wait);
      expect(waits).toEqual([true, true, true, false, false]);
    });

    it('is counted without streams and without calls of other connections', async () => {
      for (const n of [1, 2, 3]) await nth(n);
      on.acquire({ requestId: id(4) }, { connection: {} });
      expect((await on.store.next('acquire')).command.wait).toBe(true);
      on.hold({ requestId: id(5) }, { connection });
      expect((await on.store.next('acquire')).command.wait).toBe(true);
      on = EngineFixture.onFakeStore({ maxWaitingCallsPerConnection: 1 });
      for (const n of [6, 7]) {
        on.hold({ requestId: id(n) }, { connection });
        await answerWaiting(on);
      }
      on.acquire({ requestId: id(8) }, { connection });
      expect((await on.store.next('acquire')).command.wait).toBe(true);
    });

    it('may wait after another call of the connection was cancelled, was granted or failed', async () => {
      const calls = [await nth(1), await nth(2), await nth(3)];
      calls[0]?.pending.call.cancel();
      await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot: EMPTY_SNAPSHOT });
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
