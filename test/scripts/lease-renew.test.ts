import { eventually } from '../support/eventually';
import { LeaseFixture } from '../support/leases/lease-fixture';
import { OFFERED_TTL_MS, type RequesterOptions } from '../support/leases/lease-requester';
import { is } from '../support/reply-kinds';

describe('lease-renew', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

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
