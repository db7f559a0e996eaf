import type { Resource } from '../../src/leases/lease';
import { LeaseFixture } from '../support/leases/lease-fixture';
import type { Requester, RequesterOptions } from '../support/leases/lease-requester';
import { is } from '../support/reply-kinds';

const TTL_MS = 100;
const FINISHED = { kind: 'finished', cause: 'expired' };

/**
 * A lease may end before its only call reports the lease to a client. Then the call gives the lease back, and the request
 * has not finished (docs/design/leases.md, rules 1 and 3).
 */
describe('a lease that ended before its call reported the lease', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

  /** A request with a lease that has ended. */
  async function ended(lock: Resource, options: RequesterOptions = {}) {
    const call = await fixture.request('s1', lock, { ttlMs: TTL_MS, ...options });
    const { fencingToken } = is('granted', await call.queue());
    await fixture.passInUse(lock, TTL_MS + 1);
    return { call, fencingToken };
  }

  it('is named with its token to the call that was answered with the lease', async () => {
    const { call, fencingToken } = await ended(fixture.resource());
    const expected = { ...FINISHED, returnable: fencingToken };
    expect(await call.queue()).toEqual(expected);
    expect(await call.claim()).toEqual(expected);
    expect(await call.withdraw()).toEqual(expected);
  });

  it('goes back, and its request waits at its own ticket, in front of later requests', async () => {
    const lock = fixture.resource();
    const { call, fencingToken } = await ended(lock);
    const holder = await fixture.request('s2', lock);
    is('granted', await holder.queue());
    const later = await fixture.request('s2', lock);
    is('waiting', await later.queue());
    const { ticket } = is('withdrawn', await call.giveBack(fencingToken));
    expect((await fixture.stored(lock)).records[call.requestId]).toBeUndefined();
    expect(is('waiting', await call.claim())).toMatchObject({ ticket, position: 1 });
    await holder.release(holder.secret);
    expect(await fixture.idsIn(lock, 'offers')).toEqual([call.requestId]);
    expect(is('granted', await call.claim()).fencingToken).toBeGreaterThan(fencingToken);
  });

  it('goes back with the ticket of its wait after a hand-over', async () => {
    const lock = fixture.resource();
    const holder = await fixture.request('s1', lock);
    await holder.queue();
    const waiter = await fixture.request('s1', lock, { ttlMs: TTL_MS });
    const { ticket } = is('waiting', await waiter.queue());
    await holder.release(holder.secret);
    const { fencingToken } = is('granted', await waiter.claim());
    await fixture.passInUse(lock, TTL_MS + 1);
    expect(is('withdrawn', await waiter.giveBack(fencingToken)).ticket).toBe(ticket);
  });

  it('goes back while it is held, with the same ticket', async () => {
    const lock = fixture.resource();
    const call = await fixture.request('s1', lock);
    const { fencingToken } = is('granted', await call.queue());
    const { ticket } = is('withdrawn', await call.giveBack(fencingToken));
    expect((await fixture.stored(lock)).records[call.requestId]?.ticket).toBe(ticket);
    // A repeated give-back finds the place.
    expect(is('withdrawn', await call.giveBack(fencingToken)).ticket).toBe(ticket);
  });

  it('goes back once: a give-back that runs late does not undo the end of a later grant', async () => {
    const lock = fixture.resource();
    const { call, fencingToken } = await ended(lock);
    is('withdrawn', await call.giveBack(fencingToken));
    const next = is('granted', await call.claim());
    is('withdrawn', await call.giveBack(fencingToken));
    expect(await fixture.idsIn(lock, 'ends')).toEqual([call.requestId]);
    await fixture.passInUse(lock, TTL_MS + 1);
    expect(await call.giveBack(fencingToken)).toEqual({ ...FINISHED, returnable: next.fencingToken });
    expect(await call.claim()).toEqual({ ...FINISHED, returnable: next.fencingToken });
  });

  it('goes back from a call that has ended, so that a retry of the request is granted', async () => {
    const lock = fixture.resource();
    const { call, fencingToken } = await ended(lock);
    is('withdrawn', await call.giveBack());
    const retry = await fixture.request('s2', lock, { requestId: call.requestId });
    expect(is('granted', await retry.queue()).fencingToken).toBeGreaterThan(fencingToken);
  });

  it('has ended for good after another call of the request has learned of the end', async () => {
    const lock = fixture.resource();
    const { call, fencingToken } = await ended(lock);
    await call.server.store.touch(lock, []);
    const retry = await fixture.request('s2', lock, { requestId: call.requestId });
    expect(await retry.queue()).toEqual(FINISHED);
    const { attach, secret } = call;
    const tombstone = { state: 'ended', cause: 'expired', attach, secret };
    expect((await fixture.stored(lock)).records[call.requestId]).toEqual(tombstone);
    expect(await call.giveBack(fencingToken)).toEqual(FINISHED);
    expect(await call.giveBack()).toEqual(FINISHED);
    expect(await call.claim()).toEqual(FINISHED);
    expect(await retry.queue()).toEqual(FINISHED);
  });

  it.each([
    ['another call was answered with the lease', (retry: Requester) => retry.queue()],
    ['the lease was renewed by its id', (_: Requester, call: Requester) => call.renew(call.secret, TTL_MS)],
    ['a stream took the lease over', (retry: Requester, call: Requester) => retry.takeOver(call.secret)],
  ])('has ended for good if %s', async (_, answer) => {
    const lock = fixture.resource();
    const call = await fixture.request('s1', lock, { ttlMs: TTL_MS });
    const { fencingToken } = is('granted', await call.queue());
    const retry = await fixture.request('s2', lock, { requestId: call.requestId, ttlMs: TTL_MS });
    await answer(retry, call);
    await fixture.passInUse(lock, TTL_MS + 1);
    for (const asking of [call, retry]) {
      const reply = await asking.giveBack(fencingToken);
      expect([FINISHED, { kind: 'superseded' }]).toContainEqual(reply);
    }
    for (const asking of [call, retry]) expect(await asking.queue()).toEqual(FINISHED);
  });

  it('has ended for good if its holder released the lease', async () => {
    const lock = fixture.resource();
    const call = await fixture.request('s1', lock);
    const { fencingToken } = is('granted', await call.queue());
    await call.release(call.secret);
    expect(await call.giveBack(fencingToken)).toEqual({ kind: 'finished', cause: 'released' });
    expect(await call.queue()).toEqual({ kind: 'finished', cause: 'released' });
  });

  it('finds no semaphore after its semaphore was deleted, even with an initial limit', async () => {
    const semaphore = fixture.resource('semaphore');
    const call = await fixture.request('s1', semaphore, { initialLimit: 2 });
    const { fencingToken } = is('granted', await call.queue());
    await fixture.remove(semaphore, { force: true });
    expect(await call.claim()).toEqual({ kind: 'finished', cause: 'revoked', returnable: fencingToken });
    is('withdrawn', await call.giveBack(fencingToken));
    is('unknown-resource', await call.claim());
  });

  it('goes back while grants pause, and changes no other request', async () => {
    const lock = fixture.resource();
    const { call, fencingToken } = await ended(lock);
    const holder = await fixture.request('s1', lock);
    is('granted', await holder.queue());
    const server = await fixture.server('s1');
    const known = server.epochArguments;
    server.epochArguments = ['L2:another-run w 0 0', Number.MAX_SAFE_INTEGER];
    try {
      is('withdrawn', await call.giveBack(fencingToken));
    } finally {
      server.epochArguments = known;
    }
    expect(await fixture.idsIn(lock, 'ended')).toEqual([]);
    expect(await fixture.idsIn(lock, 'ends')).toEqual([holder.requestId]);
  });
});
