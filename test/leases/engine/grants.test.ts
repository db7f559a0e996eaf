import { expireOffsetMs } from '../../../src/leases/lease';
import type { CallRef, Finished, Granted } from '../../../src/leases/lease-store';
import { answerWaiting, EngineFixture } from '../../support/leases/engine-fixture';
import { EMPTY_SNAPSHOT, grantedAt, waitingAt } from '../../support/leases/fake-store';
import { settled } from '../../support/manual-clock';

const HELLO = { service: 'lock', name: 'hello' } as const;
const WITHDRAWN = { kind: 'withdrawn', snapshot: EMPTY_SNAPSHOT, ticket: '43' } as const;
const ENDED: Finished = { kind: 'finished', cause: 'revoked', returnable: 44n };

/** The reply to a command of another call of this server contains the grant of a waiting call. */
describe('a direct grant', () => {
  let on: EngineFixture;
  beforeEach(() => {
    on = EngineFixture.onFakeStore();
  });

  /** Reports a grant by a command that was sent now. */
  function grant(call: CallRef, values: Partial<Granted> = {}): Promise<void> {
    on.store.listener?.granted(HELLO, call, grantedAt(on.clock.now(), { fencingToken: 44n, ...values }));
    return settled();
  }

  it('answers the waiting call without a further command', async () => {
    const pending = on.acquire();
    const { command } = await answerWaiting(on);
    await on.clock.advance(500);
    await grant(command);
    expect(pending.value).toMatchObject({ fencingToken: 44n, ttlMs: 30_000 });
    // From the receipt of the call to the send of the command, and the ttl, less the drift of the clocks.
    expect(expireOffsetMs(pending.call.receivedAt, pending.value.end)).toBeCloseTo(30_500 * 0.9995, 6);
    on.expectRest();
  });

  it('gives a stream its lease, which the stream then renews', async () => {
    const stream = on.hold();
    const { command } = await answerWaiting(on);
    await grant(command);
    expect(stream.sink.kinds).toContain('granted');
    await on.clock.advance(10_000);
    expect((await on.store.next('renew')).command.stream).toMatchObject({ attach: command.attach });
  });

  it('counts the offset from the receipt of the call if the command is older than the call', async () => {
    const sentAt = on.clock.now();
    await on.clock.advance(1000);
    const pending = on.acquire();
    const { command } = await answerWaiting(on);
    await grant(command, { sentAt });
    expect(expireOffsetMs(pending.call.receivedAt, pending.value.end)).toBeCloseTo(30_000 * 0.9995, 6);
  });

  it('waits for the reply with the place of the call if the grant comes before this reply', async () => {
    const pending = on.acquire();
    const sent = await on.store.next('acquire');
    await grant(sent.command);
    expect(pending.outcome).toBe('waiting');
    await sent.answer(waitingAt(sent.at));
    expect(pending.value.fencingToken).toBe(44n);
    on.expectRest();
  });

  it('is ignored if the reply to the acquire has a grant', async () => {
    const pending = on.acquire();
    const sent = await on.store.next('acquire');
    await grant(sent.command, { fencingToken: 1n });
    await sent.answer(grantedAt(sent.at, { fencingToken: 44n }));
    expect(pending.value.fencingToken).toBe(44n);
    on.expectRest();
  });

  it('is found by an immediate touch and a claim if the reply with the grant may be lost', async () => {
    const pending = on.acquire();
    const { command } = await answerWaiting(on);
    on.store.listener?.mayHaveMissedNews(HELLO);
    await on.clock.advance(0);
    const touch = await on.store.next('touch');
    await touch.answer({ snapshot: EMPTY_SNAPSHOT, waiters: ['recheck'] });
    const claim = await on.store.next('claim');
    expect(claim.command).toMatchObject({ requestId: command.requestId, attach: command.attach });
    await claim.answer(grantedAt(claim.at, { fencingToken: 44n }));
    expect(pending.value.fencingToken).toBe(44n);
    on.expectRest();
  });

  it('is found by immediate touches about all 100 waiters if a reply may be lost', async () => {
    const calls = Array.from({ length: 100 }, () => on.acquire({ requestId: undefined }));
    for (const _ of calls) await answerWaiting(on);
    on.store.listener?.mayHaveMissedNews(HELLO);
    await on.clock.advance(0);
    const asked: string[] = [];
    for (const expected of [64, 64]) {
      const touch = await on.store.next('touch');
      expect(touch.command).toHaveLength(expected);
      asked.push(...touch.command.map(({ requestId }) => requestId));
      await touch.answer({ snapshot: EMPTY_SNAPSHOT, waiters: touch.command.map((_, index) => index + 1) });
    }
    expect(new Set(asked).size).toBe(100);
    expect(on.store.inFlight).toEqual([]);
  });

  it('is given back if its offset has passed, and the call continues to wait in its place', async () => {
    const pending = on.acquire();
    const { command } = await answerWaiting(on, { ticket: '43' });
    await grant(command, { remainingMs: 0 });
    const back = await on.store.next('withdraw');
    expect(back.command).toMatchObject({ attach: command.attach, giveBack: true, fencingToken: 44n });
    await back.answer(WITHDRAWN);
    const claim = await on.store.next('claim');
    expect(claim.command.ticket).toBe('43');
    await claim.answer(grantedAt(claim.at, { fencingToken: 45n }));
    expect(pending.value.fencingToken).toBe(45n);
    on.expectRest();
  });

  it('is not used during a claim, because the reply to the claim decides', async () => {
    const pending = on.acquire();
    const { command } = await answerWaiting(on);
    on.store.listener?.recheck(HELLO, command.requestId);
    const claim = await on.store.next('claim');
    await grant(command);
    expect(pending.outcome).toBe('waiting');
    // The lease of the grant ended before the claim.
    await claim.answer(ENDED);
    await (await on.store.next('withdraw')).answer(WITHDRAWN);
    const again = await on.store.next('claim');
    await again.answer(waitingAt(again.at));
    expect(pending.outcome).toBe('waiting');
    on.store.listener?.recheck(HELLO, command.requestId);
    const last = await on.store.next('claim');
    await last.answer(grantedAt(last.at, { fencingToken: 46n }));
    expect(pending.value.fencingToken).toBe(46n);
  });

  it('that comes before the reply to an earlier claim was processed is found by another claim', async () => {
    const pending = on.acquire();
    const { command } = await answerWaiting(on);
    on.store.listener?.recheck(HELLO, command.requestId);
    const claim = await on.store.next('claim');
    // One chunk of the connection has both replies.
    await Promise.all([claim.answer(waitingAt(claim.at)), grant(command)]);
    const again = await on.store.next('claim');
    await again.answer(grantedAt(again.at, { fencingToken: 44n }));
    expect(pending.value.fencingToken).toBe(44n);
    on.expectRest();
  });

  it('that comes together with a hint is used without a claim', async () => {
    const pending = on.acquire();
    const { command } = await answerWaiting(on);
    on.store.listener?.recheck(HELLO, command.requestId);
    await grant(command);
    expect(pending.value.fencingToken).toBe(44n);
    on.expectRest();
  });

  it('that comes at the end of the wait is used instead of a withdrawal', async () => {
    const pending = on.acquire({ waitTimeoutMs: 500 });
    const { command } = await answerWaiting(on);
    on.store.listener?.granted(HELLO, command, grantedAt(on.clock.now(), { fencingToken: 44n }));
    await on.clock.advance(500);
    expect(pending.value.fencingToken).toBe(44n);
    expect(on.store.count('withdraw')).toBe(0);
  });

  it('is not used during a withdrawal, because the reply to the withdrawal decides', async () => {
    const pending = on.acquire({ waitTimeoutMs: 500 });
    const { command } = await answerWaiting(on);
    await on.clock.advance(500);
    const withdrawal = await on.store.next('withdraw');
    await grant(command);
    expect(pending.outcome).toBe('waiting');
    await withdrawal.answer(grantedAt(withdrawal.at, { fencingToken: 44n }));
    expect(pending.value.fencingToken).toBe(44n);
    on.expectRest();
  });

  it('is ignored if the call has already given the grant back', async () => {
    const pending = on.acquire();
    const { command } = await answerWaiting(on);
    await grant(command, { remainingMs: 0 });
    await (await on.store.next('withdraw')).answer(WITHDRAWN);
    const claim = await on.store.next('claim');
    await claim.answer(waitingAt(claim.at));
    await grant(command);
    expect(pending.outcome).toBe('waiting');
    await grant(command, { fencingToken: 45n });
    expect(pending.value.fencingToken).toBe(45n);
  });

  it('for a call that has ended is given back, unless the store has answered a command of the call with this grant', async () => {
    const pending = on.acquire();
    const { command } = await answerWaiting(on);
    pending.call.cancel();
    await settled();
    const back = await on.store.next('withdraw');
    const { caller, patientUntil, ...rest } = back.command;
    expect(rest).toEqual({ requestId: command.requestId, attach: command.attach, giveBack: true });
    expect([caller, patientUntil]).toEqual([expect.any(Object), expect.any(Number)]);
    await back.answer(WITHDRAWN);
    await grant(command);
    expect(on.permits.stats().givingBackCount).toBe(1);
    const unheard = await on.store.next('withdraw');
    expect(unheard.command).toEqual({ ...back.command, fencingToken: 44n, onlyUnheard: true });
    await unheard.fail('unknown');
    await on.clock.advance(510);
    await (await on.store.next('withdraw')).answer({ kind: 'kept' });
    on.expectRest();
  });

  it('for an older call of the request is not reported to the newer call', async () => {
    const requestId = '0190a0a0-0000-7000-8000-00000000000a';
    const older = on.acquire({ requestId });
    const { command } = await answerWaiting(on);
    const newer = on.acquire({ requestId });
    await answerWaiting(on);
    await settled();
    expect(older.outcome).toBe('SUPERSEDED');
    await grant(command);
    expect(newer.outcome).toBe('waiting');
  });
});

/** The reply with the grant was lost, or came after the end of the lease. The caller has got nothing. */
describe('an acquire with a lease that ended before the caller was answered', () => {
  /** The reply about a lease that ended, and that only the asking call was answered with. */
  const ENDED: Finished = { kind: 'finished', cause: 'expired', returnable: 44n };

  let on: EngineFixture;
  beforeEach(() => {
    on = EngineFixture.onFakeStore();
  });

  async function expectReturn(attach: string): Promise<void> {
    const back = await on.store.next('withdraw');
    expect(back.command).toMatchObject({ attach, giveBack: true, fencingToken: 44n });
    await back.answer(WITHDRAWN);
  }

  it.each([
    ['without a request_id', undefined],
    ['with a request_id', '0190a0a0-0000-7000-8000-000000000001'],
  ])('gives the lease back and continues to wait in its place, for a caller %s', async (_, requestId) => {
    const pending = on.acquire({ requestId });
    const sent = await on.store.next('acquire');
    await sent.answer(ENDED);
    await expectReturn(sent.command.attach);
    const claim = await on.store.next('claim');
    expect(claim.command).toMatchObject({ requestId: sent.command.requestId, ticket: '43' });
    expect(pending.outcome).toBe('waiting');
    await claim.answer(grantedAt(claim.at, { fencingToken: 45n }));
    expect(pending.value.fencingToken).toBe(45n);
    on.expectRest();
  });

  it('gives the lease back and answers STORE_UNAVAILABLE if the call may only try once', async () => {
    const pending = on.acquire({ requestId: undefined, waitTimeoutMs: 0 });
    const sent = await on.store.next('acquire');
    await sent.answer(ENDED);
    await expectReturn(sent.command.attach);
    expect(pending.outcome).toBe('STORE_UNAVAILABLE');
    on.expectRest();
  });

  it('gives the lease back and claims again if a claim finds the end', async () => {
    const pending = on.acquire();
    const { command } = await answerWaiting(on, { ticket: '43' });
    on.store.listener?.recheck(HELLO, command.requestId);
    await (await on.store.next('claim')).fail('unknown');
    await on.clock.advance(260);
    await (await on.store.next('claim')).answer(ENDED);
    await expectReturn(command.attach);
    const claim = await on.store.next('claim');
    expect(claim.command.ticket).toBe('43');
    await claim.answer(grantedAt(claim.at, { fencingToken: 45n }));
    expect(pending.value.fencingToken).toBe(45n);
  });

  it('gives the lease back and answers CONTENDED if the withdrawal at the end of the wait finds the end', async () => {
    const pending = on.acquire({ waitTimeoutMs: 500 });
    const { command } = await answerWaiting(on);
    await on.clock.advance(500);
    await (await on.store.next('withdraw')).answer(ENDED);
    await expectReturn(command.attach);
    expect(pending.outcome).toBe('CONTENDED');
    on.expectRest();
  });

  it('gives the lease back and answers DRAINING if the withdrawal of a drain finds the end', async () => {
    const pending = on.acquire();
    const { command } = await answerWaiting(on);
    void on.permits.drain();
    await (await on.store.next('withdraw')).answer(ENDED);
    await expectReturn(command.attach);
    expect(pending.outcome).toBe('DRAINING');
  });

  it('lets a stream continue to wait, without a granted event for the lease that ended', async () => {
    const stream = on.hold();
    const sent = await on.store.next('acquire');
    await sent.answer(ENDED);
    await expectReturn(sent.command.attach);
    const claim = await on.store.next('claim');
    await claim.answer(grantedAt(claim.at, { fencingToken: 45n }));
    expect(stream.sink.kinds).toEqual(['granted']);
    expect(stream.sink.last('granted').lease.fencingToken).toBe(45n);
  });

  it('answers REQUEST_FINISHED if another call has learned of the end before the give-back', async () => {
    const pending = on.acquire();
    await (await on.store.next('acquire')).answer(ENDED);
    await (await on.store.next('withdraw')).answer({ kind: 'finished', cause: 'expired' });
    expect(pending.outcome).toBe('REQUEST_FINISHED');
    on.expectRest();
  });

  it('sends all give-backs in the background as one caller, which delays neither renewals nor clients', async () => {
    const callers: unknown[] = [undefined];
    for (const name of ['first', 'second']) {
      const pending = on.acquire({ requestId: undefined });
      await (await on.store.next('acquire')).fail('unknown');
      expect([name, pending.outcome]).toEqual([name, 'OUTCOME_UNKNOWN']);
      callers.push(pending.call.connection);
      const back = await on.store.next('withdraw');
      callers.push(back.command.caller);
      await back.answer(WITHDRAWN);
    }
    expect(callers[2]).toBe(callers[4]);
    expect([callers[0], callers[1], callers[3]]).not.toContain(callers[2]);
  });

  it('answers OUTCOME_UNKNOWN if the give-back has no reply, and gives the place back in the background', async () => {
    const pending = on.acquire();
    const sent = await on.store.next('acquire');
    await sent.answer(ENDED);
    await (await on.store.next('withdraw')).fail('unknown');
    expect(pending.outcome).toBe('OUTCOME_UNKNOWN');
    const back = await on.store.next('withdraw');
    expect(back.command).toMatchObject({ attach: sent.command.attach, giveBack: true });
    expect(back.command.fencingToken).toBeUndefined();
    await back.answer(WITHDRAWN);
    on.expectRest();
  });
});
