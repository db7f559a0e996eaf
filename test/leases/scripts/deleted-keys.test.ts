import type { Resource } from '../../../src/leases/lease';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import type { Requester } from '../../support/leases/lease-requester';
import { type Part, PARTS } from '../../support/leases/lease-stored';
import { is } from '../../support/reply-kinds';

/** A manual DEL of one key of a resource must not block the resource, fail a script or grant permits twice. */
describe('after a manual DEL of one key of a resource', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

  const remove = (resource: Resource, part: Part) =>
    fixture.redis.command('DEL', fixture.key(resource, part));

  /** A lock with an ended request, a holder, two waiters and a detached request. */
  async function busyLock() {
    const lock = fixture.resource();
    const [ended, alice, bob, carol, dave] = (await Promise.all(
      ['s1', 's1', 's2', 's1', 's1'].map((server) => fixture.request(server, lock, { ttlMs: 20_000 })),
    )) as [Requester, Requester, Requester, Requester, Requester];
    is('granted', await ended.try());
    await ended.release(ended.secret);
    is('granted', await alice.try());
    for (const waiter of [bob, carol, dave]) is('waiting', await waiter.queue());
    is('withdrawn', await dave.withdraw());
    return { lock, ended, alice, bob, carol, dave };
  }

  /** Performs the touch and claim that the server of a waiting call sends each second. Returns true after a grant. */
  async function heartbeat(waiter: Requester): Promise<boolean> {
    const [word] = (await waiter.touch()).waiters;
    return word === 'recheck' && (await waiter.claim()).kind === 'granted';
  }

  it.each(PARTS)(
    '(key %s) no waiter is granted while the holder can renew, and later the waiters are granted in order',
    async (part) => {
      const { lock, alice, bob, carol } = await busyLock();
      await remove(lock, part);
      const granted: string[] = [];
      let held = true;
      for (let second = 0; second < 40 && granted.length < 2; second += 1) {
        // The holder's stream renews for 5 s, unless the lease was lost, and then crashes.
        if (second < 5) held &&= (await alice.renew(alice.secret)).kind === 'granted';
        for (const [name, waiter] of [
          ['bob', bob],
          ['carol', carol],
        ] as const) {
          if (granted.includes(name) || !(await heartbeat(waiter))) continue;
          expect(second < 5 && held).toBe(false);
          granted.push(name);
          is('released', await waiter.release(waiter.secret));
        }
        await fixture.passInUse(lock, 1000);
      }
      expect(granted).toEqual(['bob', 'carol']);
      // No left-over data occupies permits, so a new request gets the lock immediately.
      await fixture.passInUse(lock, 11_000);
      is('granted', await (await fixture.request('s3', lock)).try());
      expect((await fixture.stored(lock)).sets.queue).toEqual([]);
    },
  );

  it.each(['ends', 'offers', 'queue', 'detached', 'past1'] as const)(
    'every key expires if %s was deleted and is used again',
    async (part) => {
      const semaphore = fixture.resource('semaphore');
      const ask = (server: string) => fixture.request(server, semaphore, { initialLimit: 40, ttlMs: 20_000 });
      const holders = await Promise.all(Array.from({ length: 39 }, () => ask('s1')));
      for (const holder of holders) is('granted', await holder.try());
      for (const holder of holders.splice(0, 19)) is('released', await holder.release(holder.secret));
      const big = await fixture.request('s1', semaphore, { permits: 40 });
      is('waiting', await big.queue());
      const waiters = [await ask('s2'), await ask('s2'), await ask('s2')];
      for (const waiter of waiters) is('waiting', await waiter.queue());
      is('withdrawn', await (waiters[0] as Requester).withdraw());
      await remove(semaphore, part);
      await big.withdraw(); // the waiters behind get offers
      for (const waiter of waiters) await waiter.queue();
      await (waiters[1] as Requester).withdraw();
      for (const holder of [await ask('s1'), await ask('s1')]) await holder.try();
      for (const holder of holders.splice(0, 11)) await holder.release(holder.secret);
      for (const each of PARTS) {
        expect([each, await fixture.redis.command('PTTL', fixture.key(semaphore, each))]).not.toEqual([
          each,
          '-1',
        ]);
      }
    },
  );

  it.each(['queue', 'offers'] as const)(
    'grants nothing twice if only the head was deleted while a request was in %s',
    async (part) => {
      const { lock, alice, bob } = await busyLock();
      if (part === 'offers') is('released', await alice.release(alice.secret));
      expect(await fixture.idsIn(lock, part)).toContain(bob.requestId);
      await fixture.redis.command('HDEL', fixture.key(lock, 'state'), 'h');
      const erin = await fixture.request('s1', lock, { ttlMs: 20_000 });
      is('granted', await erin.try());
      is('waiting', await bob.claim());
      expect((await alice.renew(alice.secret)).kind).not.toBe('granted');
      const { numbers } = await fixture.stored(lock);
      expect(numbers).toMatchObject({ ends: '1', queue: '1', offers: '0', detached: '0' });
      is('released', await erin.release(erin.secret));
      is('granted', await bob.claim());
    },
  );

  it('lets a name be used if the record of its holder was deleted and the holder acquires again', async () => {
    const { lock, alice, bob } = await busyLock();
    await fixture.redis.command('HDEL', fixture.key(lock, 'state'), `r${alice.requestId}`);
    is('waiting', await alice.queue());
    await fixture.passInUse(lock, 20_001);
    expect((await bob.touch()).waiters).toEqual(['recheck']);
    is('granted', await bob.claim());
  });

  it('counts the places again of waiters whose queue was deleted, so the semaphore can be deleted', async () => {
    const { semaphore, holder } = await fixture.fullSemaphore(4);
    const waiters = await fixture.requests(5, 's1', semaphore);
    for (const waiter of waiters) is('waiting', await waiter.queue());
    await remove(semaphore, 'queue');
    for (const waiter of waiters) is('waiting', await waiter.claim());
    expect((await fixture.stored(semaphore)).numbers.queue).toBe('5');
    await remove(semaphore, 'queue');
    await fixture.redis.command('HDEL', fixture.key(semaphore, 'state'), `r${holder.requestId}`);
    await fixture.passInUse(semaphore, 200_000);
    is('removed', await fixture.remove(semaphore));
  });

  it.each(['queue', 'detached'] as const)(
    'counts the places of %s again before the queue stays full',
    async (part) => {
      const { semaphore } = await fixture.fullSemaphore(4);
      for (const waiter of await fixture.requests(3, 's1', semaphore)) {
        is('waiting', await waiter.queue());
        if (part === 'detached') is('withdrawn', await waiter.withdraw());
      }
      const newcomer = await fixture.request('s1', semaphore, { maxWaiters: 3 });
      is('queue-full', await newcomer.queue());
      await remove(semaphore, part);
      is('queue-full', await newcomer.queue());
      is('waiting', await newcomer.queue());
    },
  );

  it.each(['offers', 'detached'] as const)(
    'counts no member of %s any more when its members would be due',
    async (part) => {
      const lock = fixture.resource();
      const [alice, bob] = [await fixture.request('s1', lock), await fixture.request('s2', lock)];
      is('granted', await alice.try());
      is('waiting', await bob.queue());
      if (part === 'offers') is('released', await alice.release(alice.secret));
      else is('withdrawn', await bob.withdraw());
      expect((await fixture.stored(lock)).numbers[part]).toBe('1');
      await remove(lock, part);
      await fixture.passInUse(lock, 12_000);
      await (await fixture.server('s1')).store.touch(lock, []);
      expect((await fixture.stored(lock)).numbers[part]).toBe('0');
    },
  );

  it('begins again after a forced deletion, although the leases were deleted before', async () => {
    const semaphore = fixture.resource('semaphore');
    is('set', await fixture.setLimit(semaphore, 40));
    for (const holder of await fixture.requests(20, 's1', semaphore)) is('granted', await holder.try());
    await remove(semaphore, 'ends');
    is('removed', await fixture.remove(semaphore, { force: true }));
    is('set', await fixture.setLimit(semaphore, 2));
    is('removed', await fixture.remove(semaphore));
  });

  it('counts no waiters any more if the queue was deleted', async () => {
    const { lock, alice } = await busyLock();
    await remove(lock, 'queue');
    is('released', await alice.release(alice.secret));
    expect((await fixture.stored(lock)).numbers).toMatchObject({ queue: '0', used: '0' });
    expect(is('granted', await (await fixture.request('s1', lock)).try()).fencingToken).toBeGreaterThan(0n);
  });

  it.each(PARTS)('(key %s) every command still gets an answer', async (part) => {
    const commands: ((who: Requester) => Promise<{ kind: string }>)[] = [
      (who) => who.try(),
      (who) => who.queue(),
      (who) => who.claim(),
      (who) => who.withdraw(),
      (who) => who.giveBack(),
      (who) => who.renew(who.secret),
      (who) => who.release(who.secret),
      async (who) => ({ kind: typeof (await who.touch()).snapshot }),
    ];
    for (const command of commands) {
      const { lock, ...requesters } = await busyLock();
      await remove(lock, part);
      for (const who of Object.values(requesters)) expect((await command(who)).kind).toBeTruthy();
      expect((await (await fixture.server('s1')).store.inspect(lock)).name).toBe(lock.name);
    }
  });

  /** A semaphore whose holders are too many for the head. */
  async function manyHolders() {
    const semaphore = fixture.resource('semaphore');
    is('set', await fixture.setLimit(semaphore, 20));
    const holders = await fixture.requests(20, 's1', semaphore, { stream: true });
    for (const holder of holders) is('granted', await holder.queue());
    return { semaphore, alice: holders[0] as Requester };
  }

  it('(key ends) the leases are gone, and a renewal does not restore a lease', async () => {
    const { semaphore, alice } = await manyHolders();
    await remove(semaphore, 'ends');
    const bob = await fixture.request('s1', semaphore, { permits: 20 });
    is('granted', await bob.try());
    is('gone', await alice.keepAlive(alice.secret));
    is('gone', await alice.renew(alice.secret));
    is('gone', await alice.release(alice.secret));
    is('refused', await (await fixture.request('s1', semaphore)).try());
    is('granted', await bob.renew(bob.secret));
  });

  it('(key ends) the next script grants exactly the permits of the lost leases', async () => {
    const { semaphore } = await manyHolders();
    const waiters = await fixture.requests(21, 's1', semaphore);
    for (const waiter of waiters) is('waiting', await waiter.queue());
    await remove(semaphore, 'ends');
    await (await fixture.server('s1')).store.touch(semaphore, []);
    expect(await fixture.idsIn(semaphore, 'queue')).toEqual([waiters[20]?.requestId]);
  });

  it('(key offers) the waiter queues again, and only one request gets the lock', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock);
    const bob = await fixture.request('s2', lock);
    is('granted', await alice.try());
    await bob.queue();
    await alice.release(alice.secret);
    await remove(lock, 'offers');
    is('granted', await (await fixture.request('s1', lock)).try());
    is('waiting', await bob.claim());
    expect((await fixture.stored(lock)).sets.ends).toHaveLength(1);
  });

  it('(key queue) a waiter that claims gets its own place again', async () => {
    const { lock, bob, carol } = await busyLock();
    const newcomer = await fixture.request('s3', lock);
    await remove(lock, 'queue');
    is('waiting', await newcomer.queue());
    expect((await carol.touch()).waiters).toEqual(['recheck']);
    expect(is('waiting', await carol.claim()).position).toBe(1);
    expect(is('waiting', await bob.queue()).position).toBe(1);
    expect((await newcomer.touch()).waiters).toEqual([3]);
  });

  it('(key state) left-over data in the other keys does not affect new leases', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 5000 });
    is('granted', await alice.try());
    await remove(lock, 'state');
    const bob = await fixture.request('s1', lock, { ttlMs: 60_000 });
    is('granted', await bob.try());
    // The old lease of this request id ends while the request waits again.
    is('waiting', await alice.queue());
    await fixture.passInUse(lock, 6000);
    is('refused', await (await fixture.request('s1', lock)).try());
    is('granted', await bob.renew(bob.secret));
    expect((await fixture.stored(lock)).sets.offers).toEqual([]);
  });

  it('(key state) a touch does not answer `more` because of many left-over leases and waiters', async () => {
    const lock = fixture.resource();
    for (let i = 0; i < 70; i += 1)
      await (await fixture.request('s1', lock, { mode: 'shared', ttlMs: 5000 })).try();
    for (let i = 0; i < 70; i += 1) await (await fixture.request('s2', lock)).queue();
    await fixture.pass(lock, 11_000);
    await remove(lock, 'state');
    const server = await fixture.server('s1');
    const before = server.mores;
    await server.store.touch(lock, []);
    expect(server.mores).toBe(before);
  });

  it('all permits of a semaphore can be granted again after its holders and waiters have ended', async () => {
    for (const part of PARTS) {
      const semaphore = fixture.resource('semaphore');
      const holders = await Promise.all(
        [1, 2].map((permits) => fixture.request('s1', semaphore, { permits, initialLimit: 5, ttlMs: 5000 })),
      );
      for (const holder of holders) is('granted', await holder.try());
      const waiter = await fixture.request('s1', semaphore, { permits: 3, initialLimit: 5, ttlMs: 5000 });
      await waiter.queue();
      await remove(semaphore, part);
      for (const one of [...holders, waiter]) {
        await one.giveBack();
        await one.release(one.secret);
      }
      await fixture.passInUse(semaphore, 11_000);
      const all = await fixture.request('s1', semaphore, { permits: 5, initialLimit: 5 });
      is('granted', await all.try());
    }
  });

  it('a touch or a withdrawal for an unknown resource creates no key', async () => {
    const lock = fixture.resource();
    const bob = await fixture.request('s1', lock);
    await bob.touch();
    await bob.withdraw();
    for (const part of PARTS)
      expect(await fixture.redis.command('EXISTS', fixture.key(lock, part))).toBe('0');
  });
});
