import type { Resource } from '../../src/engine/leases/lease';
import { PARTS, PermitsFixture, type Part } from '../support/permits-fixture';
import type { Requester } from '../support/permits-requester';
import { is } from '../support/reply-kinds';

/** A hand that deletes one key must not wedge a resource, nor make the scripts fail, nor give permits out twice. */
describe('somebody deletes a key', () => {
  let on: PermitsFixture;
  beforeAll(async () => {
    on = await PermitsFixture.open();
  });
  afterAll(() => on.close());

  const remove = (resource: Resource, part: Part) => on.redis.command('DEL', on.key(resource, part));

  /** A lock with one of each: an ended request, a holder, two waiters, a detached place. */
  async function busyLock() {
    const lock = on.resource();
    const [ended, alice, bob, carol, dave] = (await Promise.all(
      ['s1', 's1', 's2', 's1', 's1'].map((server) => on.request(server, lock, { ttlMs: 20_000 })),
    )) as [Requester, Requester, Requester, Requester, Requester];
    is('granted', await ended.try());
    await ended.release(ended.secret);
    is('granted', await alice.try());
    for (const waiter of [bob, carol, dave]) is('waiting', await waiter.queue());
    is('withdrawn', await dave.withdraw());
    return { lock, ended, alice, bob, carol, dave };
  }

  /** What the server of a waiting call does once a second. */
  async function heartbeat(waiter: Requester): Promise<boolean> {
    const [word] = (await waiter.touch()).waiters;
    return word === 'recheck' && (await waiter.claim()).kind === 'granted';
  }

  it.each(PARTS)(
    '%s: the holder is alone as long as it can renew, and the waiters follow in order',
    async (part) => {
      const { lock, alice, bob, carol } = await busyLock();
      await remove(lock, part);
      const granted: string[] = [];
      let held = true;
      for (let second = 0; second < 40 && granted.length < 2; second += 1) {
        // The holder is killed at some time; until then its stream renews, unless it was told of the loss.
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
        await on.passInUse(lock, 1000);
      }
      expect(granted).toEqual(['bob', 'carol']);
      // At rest a newcomer has it at once: nothing is left that takes permits.
      await on.passInUse(lock, 11_000);
      is('granted', await (await on.request('s3', lock)).try());
      expect((await on.stored(lock)).sets.queue).toEqual([]);
    },
  );

  it.each(PARTS)('%s: whoever comes next, with whatever command, gets an answer', async (part) => {
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
      expect((await (await on.server('s1')).store.inspect(lock)).name).toBe(lock.name);
    }
  });

  it('the leases: a lease without an end is gone, and renewing does not bring it back', async () => {
    const lock = on.resource();
    const alice = await on.request('s1', lock, { stream: true });
    is('granted', await alice.queue());
    await remove(lock, 'ends');
    const bob = await on.request('s1', lock);
    is('granted', await bob.try());
    is('gone', await alice.keepAlive(alice.secret));
    is('gone', await alice.renew(alice.secret));
    is('gone', await alice.release(alice.secret));
    is('refused', await (await on.request('s1', lock)).try());
    is('granted', await bob.renew(bob.secret));
  });

  it('the offers: an offer is made again, and only one of two gets the lock', async () => {
    const lock = on.resource();
    const alice = await on.request('s1', lock);
    const bob = await on.request('s2', lock);
    is('granted', await alice.try());
    await bob.queue();
    await alice.release(alice.secret);
    await remove(lock, 'offers');
    is('granted', await (await on.request('s1', lock)).try());
    is('waiting', await bob.claim());
    expect((await on.stored(lock)).sets.ends).toHaveLength(1);
  });

  it('the queue: a waiter comes back to its own place', async () => {
    const { lock, bob, carol } = await busyLock();
    const newcomer = await on.request('s3', lock);
    await remove(lock, 'queue');
    is('waiting', await newcomer.queue());
    expect((await carol.touch()).waiters).toEqual(['recheck']);
    expect(is('waiting', await carol.claim()).position).toBe(1);
    expect(is('waiting', await bob.queue()).position).toBe(1);
    expect((await newcomer.touch()).waiters).toEqual([3]);
  });

  it('the state: what the other keys still have of the old resource does not touch the new one', async () => {
    const lock = on.resource();
    const alice = await on.request('s1', lock, { ttlMs: 5000 });
    is('granted', await alice.try());
    await remove(lock, 'state');
    const bob = await on.request('s1', lock, { ttlMs: 60_000 });
    is('granted', await bob.try());
    // Alice's call is retried and waits, under the id whose old lease ends meanwhile.
    is('waiting', await alice.queue());
    await on.passInUse(lock, 6000);
    is('refused', await (await on.request('s1', lock)).try());
    is('granted', await bob.renew(bob.secret));
    expect((await on.stored(lock)).sets.offers).toEqual([]);
  });

  it('the state: nobody is asked without end to tidy up what is left of a long queue', async () => {
    const lock = on.resource();
    is('granted', await (await on.request('s1', lock)).try());
    for (let i = 0; i < 70; i += 1) await (await on.request('s2', lock)).queue();
    await on.pass(lock, 11_000);
    await remove(lock, 'state');
    const server = await on.server('s1');
    const before = server.mores;
    await server.store.touch(lock, []);
    expect(server.mores).toBe(before);
  });

  it('permits of a semaphore are all to be had again', async () => {
    for (const part of PARTS) {
      const semaphore = on.resource('semaphore');
      const holders = await Promise.all(
        [1, 2].map((permits) => on.request('s1', semaphore, { permits, initialLimit: 5, ttlMs: 5000 })),
      );
      for (const holder of holders) is('granted', await holder.try());
      const waiter = await on.request('s1', semaphore, { permits: 3, initialLimit: 5, ttlMs: 5000 });
      await waiter.queue();
      await remove(semaphore, part);
      for (const one of [...holders, waiter]) {
        await one.giveBack();
        await one.release(one.secret);
      }
      await on.passInUse(semaphore, 11_000);
      const all = await on.request('s1', semaphore, { permits: 5, initialLimit: 5 });
      is('granted', await all.try());
    }
  });

  it('a heartbeat for a resource that is forgotten leaves no key behind', async () => {
    const lock = on.resource();
    const bob = await on.request('s1', lock);
    await bob.touch();
    await bob.withdraw();
    for (const part of PARTS) expect(await on.redis.command('EXISTS', on.key(lock, part))).toBe('0');
  });
});
