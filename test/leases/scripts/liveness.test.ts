import type { Resource } from '../../../src/leases/lease';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import { OFFERED_TTL_MS } from '../../support/leases/lease-requester';
import { is } from '../../support/reply-kinds';

/** Scripts judge for each resource and each server whether the server is alive. */
describe('a script that judges whether servers are alive', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

  /** Alice holds the lock on server s1. Bob waits first, on server s2. Carol waits second, on server s1. */
  async function lockWithWaiters() {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 60_000 });
    const bob = await fixture.request('s2', lock, { ttlMs: OFFERED_TTL_MS });
    const carol = await fixture.request('s1', lock, { ttlMs: OFFERED_TTL_MS });
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    is('waiting', await carol.queue());
    return { lock, alice, bob, carol };
  }

  /** Lets time pass in which server s1 runs scripts and server s2 does not. */
  async function silenceOfS2(lock: Resource, ms: number): Promise<void> {
    await fixture.passInUse(lock, ms);
    await fixture.beat(lock, 's1');
  }

  it('offers a lock to a waiter of a server that was silent for less than 4 s', async () => {
    const { lock, alice, bob } = await lockWithWaiters();
    await silenceOfS2(lock, 3700);
    await alice.release(alice.secret);
    expect(await fixture.idsIn(lock, 'offers')).toEqual([bob.requestId]);
  });

  it('skips a waiter of a server that was silent for more than 4 s, and keeps the place of the waiter', async () => {
    const { lock, alice, bob, carol } = await lockWithWaiters();
    const { ticket } = bob;
    await silenceOfS2(lock, 4001);
    await alice.release(alice.secret);
    expect(await fixture.idsIn(lock, 'offers')).toEqual([carol.requestId]);
    expect(await fixture.idsIn(lock, 'detached')).toEqual([bob.requestId]);
    is('granted', await carol.claim());
    const dave = await fixture.request('s1', lock);
    await dave.queue();
    expect((await bob.touch()).waiters).toEqual(['recheck']);
    expect(is('waiting', await bob.claim())).toMatchObject({ ticket, position: 1 });
  });

  it('forgets a detached waiter after 10 s, and a later claim still restores its place', async () => {
    const { lock, bob, alice, carol } = await lockWithWaiters();
    const { ticket } = bob;
    await silenceOfS2(lock, 4001);
    await alice.release(alice.secret);
    is('granted', await carol.claim());
    const dave = await fixture.request('s1', lock);
    await dave.queue();
    await fixture.passInUse(lock, 10_001);
    await dave.touch();
    expect((await fixture.stored(lock)).records[bob.requestId]).toBeUndefined();
    expect(is('waiting', await bob.claim())).toMatchObject({ ticket, position: 1 });
  });

  it('keeps the place of a waiter while its server touches, and a newcomer of another server overtakes no such waiter', async () => {
    const { lock, alice, bob, carol } = await lockWithWaiters();
    for (const ms of [3000, 3000]) {
      await silenceOfS2(lock, ms);
      expect((await bob.touch()).waiters).toEqual([1]);
    }
    await silenceOfS2(lock, 500);
    const newcomer = await fixture.request('s1', lock);
    expect(is('waiting', await newcomer.queue()).position).toBe(3);
    await alice.release(alice.secret);
    expect(await fixture.idsIn(lock, 'offers')).toEqual([bob.requestId]);
    expect(await fixture.idsIn(lock, 'queue')).toEqual([carol.requestId, newcomer.requestId]);
  });

  it('counts a touch with waiters as a sign of life, but not a touch without waiters', async () => {
    const { lock, alice, bob, carol } = await lockWithWaiters();
    await silenceOfS2(lock, 3000);
    await bob.touch();
    await silenceOfS2(lock, 3000);
    await (await fixture.server('s2')).store.touch(lock, []);
    await silenceOfS2(lock, 1500);
    await alice.release(alice.secret);
    expect(await fixture.idsIn(lock, 'offers')).toEqual([carol.requestId]);
  });

  it('counts a claim as a sign of life', async () => {
    const { lock, alice, bob } = await lockWithWaiters();
    await silenceOfS2(lock, 3000);
    is('waiting', await bob.claim());
    await silenceOfS2(lock, 3000);
    await alice.release(alice.secret);
    expect(await fixture.idsIn(lock, 'offers')).toEqual([bob.requestId]);
  });

  it('removes the waiters of a dead server, so that others can queue and the semaphore can be deleted', async () => {
    const semaphore = fixture.resource('semaphore');
    const s1 = (await fixture.server('s1')).store;
    await s1.setLimit(semaphore, { limit: 0, expectedLimit: undefined });
    for (let count = 0; count < 100; count += 1) {
      is('waiting', await (await fixture.request('gone', semaphore, { maxWaiters: 100 })).queue());
    }
    const newcomer = await fixture.request('s1', semaphore, { maxWaiters: 100 });
    is('queue-full', await newcomer.queue());
    expect(await s1.remove(semaphore, { force: false })).toMatchObject({ kind: 'in-use', waiterCount: 100 });
    await fixture.passInUse(semaphore, 10_001);
    is('queue-full', await newcomer.queue()); // The places of the waiters are still kept.
    await fixture.passInUse(semaphore, 10_001);
    is('waiting', await newcomer.queue());
    is('withdrawn', await newcomer.withdraw());
    is('removed', await s1.remove(semaphore, { force: false }));
  });

  it('never judges its own server dead', async () => {
    const { lock, alice, bob } = await lockWithWaiters();
    await fixture.passInUse(lock, 20_000);
    is(
      'released',
      await (await fixture.request('s2', lock, { requestId: alice.requestId })).release(alice.secret),
    );
    expect(await fixture.idsIn(lock, 'offers')).toEqual([bob.requestId]);
  });

  it('leaves silent waiters in the queue until the lock can be offered', async () => {
    const { lock, alice, bob, carol } = await lockWithWaiters();
    await silenceOfS2(lock, 9000);
    await alice.renew(alice.secret);
    await carol.touch();
    expect(await fixture.idsIn(lock, 'queue')).toEqual([bob.requestId, carol.requestId]);
  });

  it('lets an unclaimed offer lapse after 3 s, and offers the lock to the next waiter', async () => {
    const { lock, alice, bob, carol } = await lockWithWaiters();
    await alice.release(alice.secret);
    await silenceOfS2(lock, 2700);
    await carol.touch();
    expect(await fixture.idsIn(lock, 'offers')).toEqual([bob.requestId]);
    await silenceOfS2(lock, 301);
    await carol.touch();
    expect(await fixture.idsIn(lock, 'offers')).toEqual([carol.requestId]);
    expect(await fixture.idsIn(lock, 'detached')).toEqual([bob.requestId]);
  });

  describe('after a stall of more than 3 s in which no server ran a script', () => {
    it('judges no server dead, and a new request overtakes no waiter', async () => {
      const { lock, bob, carol } = await lockWithWaiters();
      await fixture.pass(lock, 61_000);
      const newcomer = await fixture.request('s3', lock);
      expect(is('waiting', await newcomer.queue()).position).toBe(2);
      expect(await fixture.idsIn(lock, 'offers')).toEqual([bob.requestId]);
      expect(await fixture.idsIn(lock, 'queue')).toEqual([carol.requestId, newcomer.requestId]);
    });

    it('forgets no server within the next 3 s', async () => {
      const { lock, alice, bob, carol } = await lockWithWaiters();
      await fixture.pass(lock, 20_000);
      await carol.touch();
      await alice.release(alice.secret);
      expect(await fixture.idsIn(lock, 'offers')).toEqual([bob.requestId]);
    });

    it('forgets no server within the next 3 s, even if there was a stall before', async () => {
      const { lock, alice, bob, carol } = await lockWithWaiters();
      await fixture.pass(lock, 3500);
      await bob.touch();
      await fixture.pass(lock, 20_000);
      await carol.touch();
      await alice.release(alice.secret);
      expect(await fixture.idsIn(lock, 'offers')).toEqual([bob.requestId]);
    });

    it('judges dead servers 3 s later', async () => {
      const { lock, alice, bob, carol } = await lockWithWaiters();
      await fixture.pass(lock, 7000);
      await alice.renew(alice.secret);
      await silenceOfS2(lock, 2700);
      await carol.touch();
      await fixture.passInUse(lock, 301);
      is('released', await alice.release(alice.secret));
      expect(await fixture.idsIn(lock, 'offers')).toEqual([carol.requestId]);
      expect(await fixture.idsIn(lock, 'detached')).toEqual([bob.requestId]);
    });

    it('extends an offer that lapsed in the stall by 3 s, and keeps its fencing token', async () => {
      const { lock, alice, bob, carol } = await lockWithWaiters();
      await alice.release(alice.secret);
      const token = (await fixture.stored(lock)).numbers.token as string;
      await fixture.pass(lock, 5000);
      await carol.touch();
      expect(await fixture.idsIn(lock, 'offers')).toEqual([bob.requestId]);
      await silenceOfS2(lock, 2700);
      expect(is('granted', await bob.claim()).fencingToken).toBe(BigInt(token));
    });

    it('extends a kept place by 3 s', async () => {
      const { lock, bob, carol } = await lockWithWaiters();
      const { ticket } = bob;
      is('withdrawn', await bob.withdraw());
      await fixture.pass(lock, 12_000);
      await carol.touch();
      await silenceOfS2(lock, 2700);
      expect(is('waiting', await bob.queue()).ticket).toBe(ticket);
      is('withdrawn', await bob.withdraw());
      await fixture.pass(lock, 12_000);
      await carol.touch();
      await silenceOfS2(lock, 3001);
      await carol.touch();
      expect(await fixture.idsIn(lock, 'detached')).toEqual([]);
    });

    it('does not extend a lease that expired in the stall', async () => {
      const { lock, alice } = await lockWithWaiters();
      await fixture.pass(lock, 61_000);
      expect(await alice.renew(alice.secret)).toEqual({ kind: 'finished', cause: 'expired' });
    });
  });

  it('does not count a pause of less than 3 s as a stall', async () => {
    const { lock, alice, carol, bob } = await lockWithWaiters();
    await silenceOfS2(lock, 2000);
    await carol.touch();
    await fixture.pass(lock, 2600);
    await fixture.beat(lock, 's1');
    is('released', await alice.release(alice.secret));
    expect(await fixture.idsIn(lock, 'detached')).toEqual([bob.requestId]);
  });

  it('forgets a server that was silent for a minute', async () => {
    const { lock, carol } = await lockWithWaiters();
    await fixture.passInUse(lock, 60_001);
    await carol.touch();
    expect(await fixture.idsIn(lock, 'live')).toEqual(['s1']);
  });

  it('grants a rarely used lock although a waiter of a dead server had an offer', async () => {
    const { lock, alice, carol } = await lockWithWaiters();
    await carol.withdraw();
    await alice.release(alice.secret); // The release offers the lock to bob, and the server of bob is dead.
    let tries = 0;
    for (let answer = 'refused'; answer !== 'granted'; tries += 1) {
      expect(tries).toBeLessThan(4);
      await fixture.pass(lock, 4000);
      answer = (await (await fixture.request('s1', lock)).try()).kind;
    }
  });

  it('skips a waiter of a dead server even if every script runs 4 s after the previous script', async () => {
    const { lock, alice, carol } = await lockWithWaiters();
    await fixture.pass(lock, 4000);
    await carol.touch();
    await fixture.pass(lock, 4000);
    await alice.release(alice.secret);
    expect(await fixture.idsIn(lock, 'offers')).toEqual([carol.requestId]);
  });

  it('forgets kept places even if every script runs 4 s after the previous script', async () => {
    const lock = fixture.resource();
    is('granted', await (await fixture.request('s1', lock, { ttlMs: 120_000 })).try());
    for (let i = 0; i < 12; i += 1) {
      await fixture.pass(lock, 4000);
      const caller = await fixture.request('s1', lock);
      is('waiting', await caller.queue());
      is('withdrawn', await caller.withdraw());
    }
    expect((await fixture.idsIn(lock, 'detached')).length).toBeLessThan(6);
  });

  it('detaches the waiters of a dead server while the lock is held, and forgets the server', async () => {
    const { lock, bob, carol } = await lockWithWaiters();
    await silenceOfS2(lock, 10_001);
    is('waiting', await carol.claim());
    await carol.touch();
    expect(await fixture.idsIn(lock, 'queue')).toEqual([carol.requestId]);
    expect(await fixture.idsIn(lock, 'detached')).toEqual([bob.requestId]);
    expect(await fixture.idsIn(lock, 'live')).toEqual(['s1']);
  });

  it('continues its walk of a long queue where the previous script stopped', async () => {
    const lock = fixture.resource();
    is('granted', await (await fixture.request('s1', lock, { ttlMs: 120_000 })).try());
    const living = await fixture.request('s1', lock);
    for (let i = 0; i < 100; i += 1) await (await fixture.request('s2', lock)).queue();
    is('waiting', await living.queue());
    await silenceOfS2(lock, 10_001);
    await living.touch();
    expect(await fixture.idsIn(lock, 'queue')).toHaveLength(101 - 64);
    await living.touch();
    expect(await fixture.idsIn(lock, 'queue')).toEqual([living.requestId]);
  });

  it('begins the next walk at the head of the queue if the dead server of a walk is alive again', async () => {
    const { lock, bob, carol } = await lockWithWaiters();
    const away = await fixture.request('s3', lock);
    for (let i = 0; i < 100; i += 1) await (await fixture.request('s3', lock)).queue();
    const bobsPlace = async () => (await fixture.idsIn(lock, 'queue')).includes(bob.requestId);
    await silenceOfS2(lock, 10_001);
    await fixture.beat(lock, 's2');
    await carol.touch();
    expect(await fixture.idsIn(lock, 'queue')).toHaveLength(102 - 62);
    is('waiting', await away.queue());
    await carol.touch();
    await silenceOfS2(lock, 10_001);
    await fixture.beat(lock, 's3');
    expect(await bobsPlace()).toBe(true);
    await carol.touch();
    expect(await bobsPlace()).toBe(false);
  });

  it('offers the lock even if the Redis user may not publish hints', async () => {
    await fixture.redis.command('ACL', 'SETUSER', 'quiet', 'on', '>secret', '~*', '+@all', 'resetchannels');
    await fixture.server('s9', fixture.redis.adminUrl.replace('redis://', 'redis://quiet:secret@'));
    const lock = fixture.resource();
    const alice = await fixture.request('s9', lock);
    const bob = await fixture.request('s2', lock);
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    is('released', await alice.release(alice.secret));
    expect((await bob.touch()).waiters).toEqual(['recheck']);
    is('granted', await bob.claim());
  });
});
