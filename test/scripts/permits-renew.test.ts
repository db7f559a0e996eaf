import { eventually } from '../support/eventually';
import { PermitsFixture } from '../support/permits-fixture';
import type { RequesterOptions } from '../support/permits-requester';
import { is } from '../support/reply-kinds';

describe('permits-renew', () => {
  let on: PermitsFixture;
  beforeAll(async () => {
    on = await PermitsFixture.open();
  });
  afterAll(() => on.close());

  async function held(options: RequesterOptions = {}) {
    const lock = on.resource();
    const alice = await on.request('s1', lock, { ttlMs: 10_000, ...options });
    const lease = is('granted', await alice.queue());
    return { lock, alice, lease };
  }

  describe('by the lease id', () => {
    it('moves the end to a whole ttl from now, under the same token', async () => {
      const { lock, alice, lease } = await held();
      await on.passInUse(lock, 7000);
      expect(is('granted', await alice.renew(alice.secret))).toMatchObject({
        fencingToken: lease.fencingToken,
        remainingMs: 10_000,
        ttlMs: 10_000,
        secret: alice.secret,
      });
    });

    it("never brings the end nearer, and a shorter ttl does not become the lease's", async () => {
      const { lock, alice } = await held();
      const { remainingMs, ttlMs } = is('granted', await alice.renew(alice.secret, 1000));
      expect(remainingMs).toBeGreaterThan(9000);
      expect(ttlMs).toBe(10_000);
      await on.passInUse(lock, 9500);
      expect(is('granted', await alice.renew(alice.secret, 2000)).remainingMs).toBe(2000);
      expect(is('granted', await alice.renew(alice.secret)).remainingMs).toBe(10_000);
    });

    it('with a longer ttl gives the lease that ttl from then on', async () => {
      const { lock, alice } = await held();
      expect(is('granted', await alice.renew(alice.secret, 60_000))).toMatchObject({
        remainingMs: 60_000,
        ttlMs: 60_000,
      });
      await on.passInUse(lock, 50_000);
      expect(is('granted', await alice.renew(alice.secret)).remainingMs).toBe(60_000);
    });

    it('does not put back what has expired, nor what was released', async () => {
      const { lock, alice } = await held();
      await on.passInUse(lock, 10_001);
      expect(await alice.renew(alice.secret)).toEqual({ kind: 'finished', cause: 'expired' });
      const bob = await on.request('s1', lock);
      is('granted', await bob.try());
      await bob.release(bob.secret);
      expect(await bob.renew(bob.secret)).toEqual({ kind: 'finished', cause: 'released' });
      expect((await on.stored(lock)).sets.ends).toEqual([]);
    });

    it('a minute after the end knows nothing of it any more', async () => {
      const { lock, alice } = await held();
      await alice.release(alice.secret);
      await on.passInUse(lock, 60_001);
      is('gone', await alice.renew(alice.secret));
    });

    it('is nothing without the secret, for a lease that is held, waited for, offered or ended', async () => {
      const { lock, alice } = await held();
      const bob = await on.request('s1', lock);
      await bob.queue();
      is('gone', await alice.renew(bob.secret));
      is('gone', await bob.renew(alice.secret));
      // A waiter's own secret was never handed out: it holds nothing yet.
      is('gone', await bob.renew(bob.secret));
      await alice.release(alice.secret);
      is('gone', await bob.renew(bob.secret));
      is('gone', await alice.renew(bob.secret));
      is('gone', await (await on.request('s1', on.resource())).renew(alice.secret));
    });

    it('leaves the stream that holds the lease alone', async () => {
      const { alice } = await held({ stream: true });
      is('granted', await alice.renew(alice.secret));
      is('granted', await alice.keepAlive(alice.secret));
    });

    it('offers on what it finds expired', async () => {
      const semaphore = on.resource('semaphore');
      const short = await on.request('s1', semaphore, { initialLimit: 2, ttlMs: 5000 });
      const long = await on.request('s1', semaphore, { initialLimit: 2, ttlMs: 20_000 });
      const waiter = await on.request('s1', semaphore);
      is('granted', await short.try());
      is('granted', await long.try());
      await waiter.queue();
      await on.passInUse(semaphore, 5001);
      is('granted', await long.renew(long.secret));
      expect((await on.server('s1')).looks).toContain(waiter.requestId);
    });
  });

  describe('by a stream', () => {
    it('acts only while the stream speaks for the lease, and after the end too tells it who did', async () => {
      const { lock, alice } = await held({ stream: true });
      const newer = await on.request('s2', lock, { requestId: alice.requestId, stream: true });
      is('granted', await newer.takeOver(alice.secret));
      is('superseded', await alice.keepAlive(alice.secret));
      is('released', await newer.release(alice.secret));
      is('superseded', await alice.keepAlive(alice.secret));
      expect(await newer.keepAlive(alice.secret)).toEqual({ kind: 'finished', cause: 'released' });
    });

    it('that opens takes the lease over: same token, renewed, the older stream is told', async () => {
      const { lock, alice, lease } = await held({ stream: true });
      const s1 = await on.server('s1');
      await on.listen(s1);
      await on.passInUse(lock, 8000);
      const newer = await on.request('s2', lock, { requestId: alice.requestId, stream: true });
      expect(is('granted', await newer.takeOver(alice.secret))).toMatchObject({
        fencingToken: lease.fencingToken,
        remainingMs: 10_000,
      });
      await eventually('the hint', () => s1.hinted.includes(alice.requestId));
      is('superseded', await alice.keepAlive(alice.secret));
    });

    it('that opens twice, as after a lost reply, speaks for the lease still', async () => {
      const { lock, alice } = await held({ stream: true });
      const newer = await on.request('s2', lock, { requestId: alice.requestId, stream: true });
      is('granted', await newer.takeOver(alice.secret));
      is('granted', await newer.takeOver(alice.secret));
      is('granted', await newer.keepAlive(alice.secret));
    });

    it('that opens with an ended lease learns the cause, and never grants', async () => {
      const { lock, alice } = await held({ stream: true });
      await on.passInUse(lock, 10_001);
      const newer = await on.request('s2', lock, { requestId: alice.requestId, stream: true });
      expect(await newer.takeOver(alice.secret)).toEqual({ kind: 'finished', cause: 'expired' });
      expect((await on.stored(lock)).sets.ends).toEqual([]);
    });

    it('that opens needs the secret', async () => {
      const { lock, alice } = await held({ stream: true });
      const thief = await on.request('s2', lock, { requestId: alice.requestId, stream: true });
      is('gone', await thief.takeOver(thief.secret));
      is('granted', await alice.keepAlive(alice.secret));
    });
  });

  it('of a revoked lease is refused for ever, though its permits stay taken until its end', async () => {
    const { lock, alice } = await held();
    const state = on.key(lock, 'state');
    const mark = `
      local field = 'r' .. ARGV[1]
      local record = cmsgpack.unpack(redis.call('HGET', KEYS[1], field))
      record.v = 1
      redis.call('HSET', KEYS[1], field, cmsgpack.pack(record))`;
    await on.redis.command('EVAL', mark, 1, state, alice.requestId);
    expect(await alice.renew(alice.secret)).toEqual({ kind: 'finished', cause: 'revoked' });
    const stream = await on.request('s1', lock, { requestId: alice.requestId, stream: true });
    expect(await stream.takeOver(alice.secret)).toEqual({ kind: 'finished', cause: 'revoked' });
    is('refused', await (await on.request('s1', lock)).try());
  });
});
