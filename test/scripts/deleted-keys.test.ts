import type { Resource } from '../../src/engine/leases/lease';
import { PermitsFixture } from '../support/permits-fixture';
import { PARTS, type Part } from '../support/permits-stored';
import type { Requester } from '../support/permits-requester';
import { is } from '../support/reply-kinds';

/** A manual DEL of one key of a resource must not block the resource, fail a script or grant permits twice. */
describe('after a manual DEL of one key of a resource', () => {
  let fixture: PermitsFixture;
  beforeAll(async () => {
    fixture = await PermitsFixture.open({ frozenClock: true });
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

  it('(key ends) the lease is gone, and a renewal does not restore the lease', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { stream: true });
    is('granted', await alice.queue());
    await remove(lock, 'ends');
    const bob = await fixture.request('s1', lock);
    is('granted', await bob.try());
    is('gone', await alice.keepAlive(alice.secret));
    is('gone', await alice.renew(alice.secret));
    is('gone', await alice.release(alice.secret));
    is('refused', await (await fixture.request('s1', lock)).try());
    is('granted', await bob.renew(bob.secret));
  });

  it('(key ends) the next script offers exactly the permits of the lost leases', async () => {
    const { semaphore } = await fixture.fullSemaphore(3);
    const waiters = await fixture.requests(4, 's1', semaphore);
    for (const waiter of waiters) is('waiting', await waiter.queue());
    await remove(semaphore, 'ends');
    await (await fixture.server('s1')).store.touch(semaphore, []);
    expect(await fixture.idsIn(semaphore, 'queue')).toEqual([waiters[3]?.requestId]);
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
