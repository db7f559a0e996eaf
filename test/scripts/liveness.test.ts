import type { Resource } from '../../src/engine/leases/lease';
import { PermitsFixture } from '../support/permits-fixture';
import { is } from '../support/reply-kinds';

/** Who is alive and who is dead, as every script judges it: by server and resource. */
describe('liveness of waiters', () => {
  let on: PermitsFixture;
  beforeAll(async () => {
    on = await PermitsFixture.open();
  });
  afterAll(() => on.close());

  /** Alice holds through s1; bob waits through s2, and carol behind him through s1. */
  async function lockWithWaiters() {
    const lock = on.resource();
    const alice = await on.request('s1', lock, { ttlMs: 60_000 });
    const bob = await on.request('s2', lock);
    const carol = await on.request('s1', lock);
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    is('waiting', await carol.queue());
    return { lock, alice, bob, carol };
  }

  /** Time in which s1 lives and s2 says nothing. */
  async function silenceOfS2(lock: Resource, ms: number): Promise<void> {
    await on.passInUse(lock, ms);
    await on.beat(lock, 's1');
  }

  const idsIn = async (lock: Resource, set: 'offers' | 'queue' | 'detached') =>
    (await on.stored(lock)).sets[set].map(({ id }) => id);

  it('a server is taken to live for four seconds after its last word', async () => {
    const { lock, alice, bob } = await lockWithWaiters();
    await silenceOfS2(lock, 3700);
    await alice.release(alice.secret);
    expect(await idsIn(lock, 'offers')).toEqual([bob.requestId]);
  });

  it('a waiter whose server was silent for longer is passed over, and keeps its place', async () => {
    const { lock, alice, bob, carol } = await lockWithWaiters();
    const { ticket } = bob;
    await silenceOfS2(lock, 4001);
    await alice.release(alice.secret);
    expect(await idsIn(lock, 'offers')).toEqual([carol.requestId]);
    expect(await idsIn(lock, 'detached')).toEqual([bob.requestId]);
    is('granted', await carol.claim());
    const dave = await on.request('s1', lock);
    await dave.queue();
    expect((await bob.touch()).waiters).toEqual(['recheck']);
    expect(is('waiting', await bob.claim())).toMatchObject({ ticket, position: 1 });
  });

  it('a place is kept for ten seconds; later a claim still brings the waiter back to it', async () => {
    const { lock, bob, alice, carol } = await lockWithWaiters();
    const { ticket } = bob;
    await silenceOfS2(lock, 4001);
    await alice.release(alice.secret);
    is('granted', await carol.claim());
    const dave = await on.request('s1', lock);
    await dave.queue();
    await on.passInUse(lock, 10_001);
    await dave.touch();
    expect((await on.stored(lock)).records[bob.requestId]).toBeUndefined();
    expect(is('waiting', await bob.claim())).toMatchObject({ ticket, position: 1 });
  });

  it('a heartbeat keeps the place, a sweep without waiters is none', async () => {
    const { lock, alice, bob, carol } = await lockWithWaiters();
    await silenceOfS2(lock, 3000);
    await bob.touch();
    await silenceOfS2(lock, 3000);
    await (await on.server('s2')).store.touch(lock, []);
    await silenceOfS2(lock, 1500);
    await alice.release(alice.secret);
    expect(await idsIn(lock, 'offers')).toEqual([carol.requestId]);
  });

  it('the waiters of a server that has gone keep no semaphore from being deleted, nor others from its queue', async () => {
    const semaphore = on.resource('semaphore');
    const s1 = (await on.server('s1')).store;
    await s1.setLimit(semaphore, { limit: 0, expectedLimit: undefined });
    for (let count = 0; count < 100; count += 1) {
      is('waiting', await (await on.request('gone', semaphore, { maxWaiters: 100 })).queue());
    }
    const newcomer = await on.request('s1', semaphore, { maxWaiters: 100 });
    is('queue-full', await newcomer.queue());
    expect(await s1.remove(semaphore, { force: false })).toMatchObject({ kind: 'in-use', waiterCount: 100 });
    await on.passInUse(semaphore, 10_001);
    is('queue-full', await newcomer.queue()); // their places are kept for a while yet
    await on.passInUse(semaphore, 10_001);
    is('waiting', await newcomer.queue());
    is('withdrawn', await newcomer.withdraw());
    is('removed', await s1.remove(semaphore, { force: false }));
  });

  it('a server never finds itself silent', async () => {
    const { lock, alice, bob } = await lockWithWaiters();
    await on.passInUse(lock, 20_000);
    is(
      'released',
      await (await on.request('s2', lock, { requestId: alice.requestId })).release(alice.secret),
    );
    expect(await idsIn(lock, 'offers')).toEqual([bob.requestId]);
  });

  it('nobody is judged who is not in the way', async () => {
    const { lock, alice, bob, carol } = await lockWithWaiters();
    await silenceOfS2(lock, 9000);
    await alice.renew(alice.secret);
    expect(await idsIn(lock, 'queue')).toEqual([bob.requestId, carol.requestId]);
  });

  it('an unclaimed offer lapses after three seconds, and the next in line has it', async () => {
    const { lock, alice, bob, carol } = await lockWithWaiters();
    await alice.release(alice.secret);
    await silenceOfS2(lock, 2700);
    await carol.touch();
    expect(await idsIn(lock, 'offers')).toEqual([bob.requestId]);
    await silenceOfS2(lock, 301);
    await carol.touch();
    expect(await idsIn(lock, 'offers')).toEqual([carol.requestId]);
    expect(await idsIn(lock, 'detached')).toEqual([bob.requestId]);
  });

  describe('when nobody at all was heard for three seconds', () => {
    it('nobody is judged dead, and a newcomer passes nobody', async () => {
      const { lock, bob, carol } = await lockWithWaiters();
      await on.pass(lock, 61_000);
      const newcomer = await on.request('s3', lock);
      expect(is('waiting', await newcomer.queue()).position).toBe(2);
      expect(await idsIn(lock, 'offers')).toEqual([bob.requestId]);
      expect(await idsIn(lock, 'queue')).toEqual([carol.requestId, newcomer.requestId]);
    });

    it('the dead are judged three seconds later', async () => {
      const { lock, alice, bob, carol } = await lockWithWaiters();
      await on.pass(lock, 7000);
      await alice.renew(alice.secret);
      await silenceOfS2(lock, 2700);
      await carol.touch();
      await on.passInUse(lock, 301);
      is('released', await alice.release(alice.secret));
      expect(await idsIn(lock, 'offers')).toEqual([carol.requestId]);
      expect(await idsIn(lock, 'detached')).toEqual([bob.requestId]);
    });

    it('an offer that lapsed meanwhile stands for three seconds more, under the same token', async () => {
      const { lock, alice, bob, carol } = await lockWithWaiters();
      await alice.release(alice.secret);
      const token = (await on.stored(lock)).numbers.token as string;
      await on.pass(lock, 5000);
      await carol.touch();
      expect(await idsIn(lock, 'offers')).toEqual([bob.requestId]);
      await silenceOfS2(lock, 2700);
      expect(is('granted', await bob.claim()).fencingToken).toBe(BigInt(token));
    });

    it('a place that was kept is kept for three seconds more', async () => {
      const { lock, bob, carol } = await lockWithWaiters();
      const { ticket } = bob;
      is('withdrawn', await bob.withdraw());
      await on.pass(lock, 12_000);
      await carol.touch();
      await silenceOfS2(lock, 2700);
      expect(is('waiting', await bob.queue()).ticket).toBe(ticket);
      is('withdrawn', await bob.withdraw());
      await on.pass(lock, 12_000);
      await carol.touch();
      await silenceOfS2(lock, 3001);
      await carol.touch();
      expect(await idsIn(lock, 'detached')).toEqual([]);
    });

    it('a lease that has ended meanwhile has ended', async () => {
      const { lock, alice } = await lockWithWaiters();
      await on.pass(lock, 61_000);
      expect(await alice.renew(alice.secret)).toEqual({ kind: 'finished', cause: 'expired' });
    });
  });

  it('a little less than three seconds is no stall', async () => {
    const { lock, alice, carol, bob } = await lockWithWaiters();
    await silenceOfS2(lock, 2000);
    await carol.touch();
    await on.pass(lock, 2600);
    await on.beat(lock, 's1');
    is('released', await alice.release(alice.secret));
    expect(await idsIn(lock, 'detached')).toEqual([bob.requestId]);
  });

  it('a server that was not heard for a minute is forgotten', async () => {
    const { lock, carol } = await lockWithWaiters();
    await on.passInUse(lock, 60_001);
    await carol.touch();
    expect((await on.stored(lock)).sets.live.map(({ id }) => id)).toEqual(['s1']);
  });

  it('the waiter of a dead server does not block a name that is rarely used', async () => {
    const { lock, alice, carol } = await lockWithWaiters();
    await carol.withdraw();
    await alice.release(alice.secret); // offered to bob, whose server never speaks again
    let tries = 0;
    for (let answer = 'refused'; answer !== 'granted'; tries += 1) {
      expect(tries).toBeLessThan(4);
      await on.pass(lock, 4000);
      answer = (await (await on.request('s1', lock)).try()).kind;
    }
  });

  it('places are dropped although each look at a name comes seconds after the one before', async () => {
    const lock = on.resource();
    is('granted', await (await on.request('s1', lock, { ttlMs: 120_000 })).try());
    for (let i = 0; i < 12; i += 1) {
      await on.pass(lock, 4000);
      const caller = await on.request('s1', lock);
      is('waiting', await caller.queue());
      is('withdrawn', await caller.withdraw());
    }
    expect((await idsIn(lock, 'detached')).length).toBeLessThan(6);
  });

  it('the waiters of a server that is gone are detached while somebody else holds, and the server forgotten', async () => {
    const { lock, bob, carol } = await lockWithWaiters();
    await silenceOfS2(lock, 10_001);
    is('waiting', await carol.claim());
    await carol.touch();
    expect(await idsIn(lock, 'queue')).toEqual([carol.requestId]);
    expect(await idsIn(lock, 'detached')).toEqual([bob.requestId]);
    expect((await on.stored(lock)).sets.live.map(({ id }) => id)).toEqual(['s1']);
  });

  it('a pass over a long queue goes on where the step before stopped', async () => {
    const lock = on.resource();
    is('granted', await (await on.request('s1', lock, { ttlMs: 120_000 })).try());
    const living = await on.request('s1', lock);
    for (let i = 0; i < 100; i += 1) await (await on.request('s2', lock)).queue();
    is('waiting', await living.queue());
    await silenceOfS2(lock, 10_001);
    await living.touch();
    expect(await idsIn(lock, 'queue')).toHaveLength(101 - 64);
    await living.touch();
    expect(await idsIn(lock, 'queue')).toEqual([living.requestId]);
  });

  it('a user who may not publish loses the hint, and nothing else', async () => {
    await on.redis.command('ACL', 'SETUSER', 'quiet', 'on', '>secret', '~*', '+@all', 'resetchannels');
    await on.server('s9', on.redis.url.replace('redis://', 'redis://quiet:secret@'));
    const lock = on.resource();
    const alice = await on.request('s9', lock);
    const bob = await on.request('s2', lock);
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    is('released', await alice.release(alice.secret));
    expect((await bob.touch()).waiters).toEqual(['recheck']);
    is('granted', await bob.claim());
  });
});
