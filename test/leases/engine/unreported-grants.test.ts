import type { Finished } from '../../../src/leases/lease-store';
import { answerWaiting, EngineFixture } from '../../support/leases/engine-fixture';
import { EMPTY_SNAPSHOT, grantedAt } from '../../support/leases/fake-store';

const HELLO = { service: 'lock', name: 'hello' } as const;
/** The reply about a lease that ended, and that only the asking call was answered with. */
const ENDED: Finished = { kind: 'finished', cause: 'expired', returnable: 44n };
const WITHDRAWN = { kind: 'withdrawn', snapshot: EMPTY_SNAPSHOT, ticket: '43' } as const;

/** The reply with the grant was lost, or came after the end of the lease. The caller has got nothing. */
describe('an acquire with a lease that ended before the caller was answered', () => {
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
