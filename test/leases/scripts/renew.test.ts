import type { Resource } from '../../../src/leases/lease';
import { eventually } from '../../support/eventually';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import { OFFERED_TTL_MS, type Requester, type RequesterOptions } from '../../support/leases/lease-requester';
import { is } from '../../support/reply-kinds';

let fixture: LeaseFixture;
beforeAll(async () => {
  fixture = await LeaseFixture.open({ frozenClock: true });
});
afterAll(() => fixture.close());

describe('lease-renew', () => {
  async function held(options: RequesterOptions = {}) {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 10_000, ...options });
    const lease = is('granted', await alice.queue());
    return { lock, alice, lease };
  }

  describe('by a unary call', () => {
    it('extends the lease to a whole ttl from now, and keeps the fencing token', async () => {
      const { lock, alice, lease } = await held();
      await fixture.passInUse(lock, 7000);
      expect(is('granted', await alice.renew(alice.secret))).toMatchObject({
        fencingToken: lease.fencingToken,
        remainingMs: 10_000,
        ttlMs: 10_000,
        secret: alice.secret,
      });
    });

    it('never shortens the lease, and ignores a shorter ttl', async () => {
      const { lock, alice } = await held();
      const { remainingMs, ttlMs } = is('granted', await alice.renew(alice.secret, 1000));
      expect(remainingMs).toBeGreaterThan(9000);
      expect(ttlMs).toBe(10_000);
      await fixture.passInUse(lock, 9500);
      expect(is('granted', await alice.renew(alice.secret, 2000)).remainingMs).toBe(2000);
      expect(is('granted', await alice.renew(alice.secret)).remainingMs).toBe(10_000);
    });

    it('makes a longer ttl the ttl of the lease', async () => {
      const { lock, alice } = await held();
      expect(is('granted', await alice.renew(alice.secret, 60_000))).toMatchObject({
        remainingMs: 60_000,
        ttlMs: 60_000,
      });
      await fixture.passInUse(lock, 50_000);
      expect(is('granted', await alice.renew(alice.secret)).remainingMs).toBe(60_000);
    });

    it('never restores an expired or released lease', async () => {
      const { lock, alice } = await held();
      await fixture.passInUse(lock, 10_001);
      expect(await alice.renew(alice.secret)).toEqual({ kind: 'finished', cause: 'expired' });
      const bob = await fixture.request('s1', lock);
      is('granted', await bob.try());
      await bob.release(bob.secret);
      expect(await bob.renew(bob.secret)).toEqual({ kind: 'finished', cause: 'released' });
      expect((await fixture.stored(lock)).sets.ends).toEqual([]);
    });

    it('answers GONE a minute after the end of the lease', async () => {
      const { lock, alice } = await held();
      await alice.release(alice.secret);
      await fixture.passInUse(lock, 60_001);
      is('gone', await alice.renew(alice.secret));
    });

    it('answers GONE without the right secret to a held, waiting, offered or ended request', async () => {
      const { lock, alice } = await held();
      const bob = await fixture.request('s1', lock, { ttlMs: OFFERED_TTL_MS });
      await bob.queue();
      is('gone', await alice.renew(bob.secret));
      is('gone', await bob.renew(alice.secret));
      // A waiter has no lease yet, so no client knows its secret.
      is('gone', await bob.renew(bob.secret));
      await alice.release(alice.secret);
      is('gone', await bob.renew(bob.secret));
      is('gone', await alice.renew(bob.secret));
      is('gone', await (await fixture.request('s1', fixture.resource())).renew(alice.secret));
    });

    it('replaces the metadata of the holder as a whole, and keeps the metadata without an update', async () => {
      const { lock, alice } = await held({ metadata: { a: '1', b: '2' } });
      const { store } = await fixture.server('s1');
      const shown = async () => (await store.inspect(lock)).holders[0]?.metadata;
      is('granted', await alice.renew(alice.secret));
      expect(await shown()).toEqual({ a: '1', b: '2' });
      is('granted', await alice.renew(alice.secret, undefined, { address: '10.0.0.1:"é"' }));
      expect(await shown()).toEqual({ address: '10.0.0.1:"é"' });
      const bob = await fixture.request('s2', lock);
      expect(is('waiting', await bob.queue()).snapshot.holder?.metadata).toEqual({ address: '10.0.0.1:"é"' });
      is('granted', await alice.renew(alice.secret, undefined, {}));
      expect(await shown()).toEqual({});
    });

    it('changes no metadata without the right secret or after the end of the lease', async () => {
      const { lock, alice } = await held({ metadata: { a: '1' } });
      const { store } = await fixture.server('s1');
      is('gone', await alice.renew('guess', undefined, { a: '2' }));
      expect((await store.inspect(lock)).holders[0]?.metadata).toEqual({ a: '1' });
      await alice.release(alice.secret);
      is('finished', await alice.renew(alice.secret, undefined, { a: '2' }));
      expect((await fixture.stored(lock)).records[alice.requestId]).not.toHaveProperty('metadata');
    });

    it('leaves the lease with its stream', async () => {
      const { alice } = await held({ stream: true });
      is('granted', await alice.renew(alice.secret));
      is('granted', await alice.keepAlive(alice.secret));
    });

    it('offers the permits of expired leases to waiters', async () => {
      const semaphore = fixture.resource('semaphore');
      const short = await fixture.request('s1', semaphore, { initialLimit: 2, ttlMs: 5000 });
      const long = await fixture.request('s1', semaphore, { initialLimit: 2, ttlMs: 20_000 });
      const waiter = await fixture.request('s1', semaphore, { ttlMs: OFFERED_TTL_MS });
      is('granted', await short.try());
      is('granted', await long.try());
      await waiter.queue();
      await fixture.passInUse(semaphore, 5001);
      is('granted', await long.renew(long.secret));
      expect((await fixture.server('s1')).rechecks).toContain(waiter.requestId);
    });
  });

  describe('by a stream', () => {
    it('answers SUPERSEDED to a stream after another stream took over the lease, even if the lease has ended', async () => {
      const { lock, alice } = await held({ stream: true });
      const newer = await fixture.request('s2', lock, { requestId: alice.requestId, stream: true });
      is('granted', await newer.takeOver(alice.secret));
      is('superseded', await alice.keepAlive(alice.secret));
      is('released', await newer.release(alice.secret));
      is('superseded', await alice.keepAlive(alice.secret));
      expect(await newer.keepAlive(alice.secret)).toEqual({ kind: 'finished', cause: 'released' });
    });

    it('takes over and renews the lease when the stream opens, and notifies the older stream', async () => {
      const { lock, alice, lease } = await held({ stream: true });
      const s1 = await fixture.server('s1');
      await fixture.listen(s1);
      await fixture.passInUse(lock, 8000);
      const newer = await fixture.request('s2', lock, { requestId: alice.requestId, stream: true });
      expect(is('granted', await newer.takeOver(alice.secret))).toMatchObject({
        fencingToken: lease.fencingToken,
        remainingMs: 10_000,
      });
      await eventually('the hint', () => s1.hinted.includes(alice.requestId));
      is('superseded', await alice.keepAlive(alice.secret));
    });

    it('gives a repeated takeover the same answer after a lost reply', async () => {
      const { lock, alice } = await held({ stream: true });
      const newer = await fixture.request('s2', lock, { requestId: alice.requestId, stream: true });
      is('granted', await newer.takeOver(alice.secret));
      is('granted', await newer.takeOver(alice.secret));
      is('granted', await newer.keepAlive(alice.secret));
    });

    it('leaves a lease to the call that was answered after the takeover, even if the takeover is repeated', async () => {
      const { lock, alice } = await held({ stream: true });
      const newer = await fixture.request('s2', lock, { requestId: alice.requestId, stream: true });
      is('granted', await newer.takeOver(alice.secret));
      is('granted', await alice.renew(alice.secret));
      is('granted', await newer.takeOver(alice.secret));
      is('superseded', await newer.releaseAfterLoss(alice.secret));
    });

    it('answers ENDED with the cause to a stream that opens with an ended lease', async () => {
      const { lock, alice } = await held({ stream: true });
      await fixture.passInUse(lock, 10_001);
      const newer = await fixture.request('s2', lock, { requestId: alice.requestId, stream: true });
      expect(await newer.takeOver(alice.secret)).toEqual({ kind: 'finished', cause: 'expired' });
      expect((await fixture.stored(lock)).sets.ends).toEqual([]);
    });

    it('answers GONE to a stream that opens without the right secret', async () => {
      const { lock, alice } = await held({ stream: true });
      const thief = await fixture.request('s2', lock, { requestId: alice.requestId, stream: true });
      is('gone', await thief.takeOver(thief.secret));
      is('granted', await alice.keepAlive(alice.secret));
    });
  });

  it('answers ENDED for a revoked lease, although its permits stay in use until its end', async () => {
    const { lock, alice } = await held();
    await fixture.revoke(alice);
    expect(await alice.renew(alice.secret)).toEqual({ kind: 'finished', cause: 'revoked' });
    const stream = await fixture.request('s1', lock, { requestId: alice.requestId, stream: true });
    expect(await stream.takeOver(alice.secret)).toEqual({ kind: 'finished', cause: 'revoked' });
    is('refused', await (await fixture.request('s1', lock)).try());
  });
});

const TTL_MS = 100;
const FINISHED = { kind: 'finished', cause: 'expired' };

/**
 * A lease may end before its only call reports the lease to a client. Then the call gives the lease back, and the request
 * has not finished (docs/design/leases.md, rules 1 and 3).
 */
describe('a lease that ended before its call reported the lease', () => {
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
