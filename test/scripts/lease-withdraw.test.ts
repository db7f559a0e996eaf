import type { Resource } from '../../src/leases/lease';
import { LeaseFixture } from '../support/leases/lease-fixture';
import type { RequesterOptions } from '../support/leases/lease-requester';
import { is } from '../support/reply-kinds';

describe('lease-withdraw', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

  async function holderAndWaiter(lock: Resource, options?: RequesterOptions) {
    const alice = await fixture.request('s2', lock, { ttlMs: 20_000 });
    const bob = await fixture.request('s1', lock, options);
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    return { alice, bob };
  }

  describe('from a caller that still accepts a grant', () => {
    it('ends the wait and answers a snapshot of the queue', async () => {
      const lock = fixture.resource();
      const { bob } = await holderAndWaiter(lock);
      const { snapshot } = is('withdrawn', await bob.withdraw());
      expect(snapshot).toMatchObject({ waiterCount: 0, holder: { holderId: '' } });
      expect((await fixture.stored(lock)).sets.queue).toEqual([]);
    });

    it('grants the offer', async () => {
      const lock = fixture.resource();
      const { alice, bob } = await holderAndWaiter(lock, { ttlMs: 6000 });
      await alice.release(alice.secret);
      expect(is('granted', await bob.withdraw())).toMatchObject({ remainingMs: 6000, secret: bob.secret });
    });

    it('grants permits that the script itself frees', async () => {
      const lock = fixture.resource();
      const { bob } = await holderAndWaiter(lock);
      await fixture.passInUse(lock, 20_001);
      await fixture.beat(lock, 's1');
      is('granted', await bob.withdraw());
    });

    it('answers a grant again after a lost reply, with the whole ttl', async () => {
      const lock = fixture.resource();
      const { alice, bob } = await holderAndWaiter(lock, { ttlMs: 6000 });
      await alice.release(alice.secret);
      const { fencingToken } = is('granted', await bob.claim());
      await fixture.passInUse(lock, 2000);
      expect(is('granted', await bob.withdraw())).toMatchObject({ fencingToken, remainingMs: 6000 });
    });

    it('offers the free permits to the later waiters', async () => {
      const semaphore = fixture.resource('semaphore');
      const holder = await fixture.request('s1', semaphore, { initialLimit: 3, permits: 2 });
      const heavy = await fixture.request('s1', semaphore, { permits: 3 });
      const light = await fixture.request('s2', semaphore, { permits: 1 });
      is('granted', await holder.try());
      is('waiting', await heavy.queue());
      is('waiting', await light.queue());
      is('withdrawn', await heavy.withdraw());
      expect(await fixture.idsIn(semaphore, 'offers')).toEqual([light.requestId]);
      is('granted', await light.claim());
    });

    it('answers a grant again with exactly its ttl after the clock of Redis was set back', async () => {
      const lock = fixture.resource();
      const { alice, bob } = await holderAndWaiter(lock, { ttlMs: 6000 });
      await alice.release(alice.secret);
      is('granted', await bob.claim());
      await fixture.pass(lock, -5000);
      expect(is('granted', await bob.withdraw()).remainingMs).toBe(6000);
    });

    it('answers WITHDRAWN to a second withdrawal and to an unknown request', async () => {
      const lock = fixture.resource();
      const { bob } = await holderAndWaiter(lock);
      is('withdrawn', await bob.withdraw());
      is('withdrawn', await bob.withdraw());
      const unknown = await fixture.request('s1', lock);
      expect(is('withdrawn', await unknown.withdraw()).ticket).toBeUndefined();
    });

    it('answers FINISHED with the cause after the lease has ended', async () => {
      const lock = fixture.resource();
      const alice = await fixture.request('s1', lock);
      is('granted', await alice.try());
      await alice.release(alice.secret);
      expect(await alice.withdraw()).toEqual({ kind: 'finished', cause: 'released' });
    });
  });

  describe('from a server after its client has disconnected', () => {
    it('gives back a grant that no client knows, and offers the lock to the next waiter', async () => {
      const lock = fixture.resource();
      const { alice, bob } = await holderAndWaiter(lock);
      is('withdrawn', await alice.giveBack());
      expect(await fixture.idsIn(lock, 'offers')).toEqual([bob.requestId]);
      is('granted', await bob.claim());
    });

    it('gives back an offer, and offers the lock to the next waiter', async () => {
      const lock = fixture.resource();
      const { alice, bob } = await holderAndWaiter(lock);
      const carol = await fixture.request('s2', lock);
      await carol.queue();
      await alice.release(alice.secret);
      is('withdrawn', await bob.giveBack());
      expect(await fixture.idsIn(lock, 'offers')).toEqual([carol.requestId]);
      is('granted', await carol.claim());
    });

    it('ends a wait, and answers WITHDRAWN also for an unknown request', async () => {
      const lock = fixture.resource();
      const { bob } = await holderAndWaiter(lock);
      is('withdrawn', await bob.giveBack());
      expect(await fixture.idsIn(lock, 'queue')).toEqual([]);
      expect(await fixture.idsIn(lock, 'detached')).toEqual([bob.requestId]);
      const stranger = await fixture.request('s1', lock);
      is('withdrawn', await stranger.giveBack());
      is('withdrawn', await stranger.giveBack(7n));
    });

    it('gives back only the grant with the named fencing token', async () => {
      const lock = fixture.resource();
      const alice = await fixture.request('s1', lock);
      const { fencingToken } = is('granted', await alice.try());
      is('withdrawn', await alice.giveBack(fencingToken));
      const next = is('granted', await alice.claim());
      expect(next.fencingToken).toBeGreaterThan(fencingToken);
      is('withdrawn', await alice.giveBack(fencingToken));
      expect(await alice.server.store.inspect(lock)).toMatchObject({ holderCount: 1 });
      is('withdrawn', await alice.giveBack(next.fencingToken));
      expect(await alice.server.store.inspect(lock)).toMatchObject({ holderCount: 0 });
    });

    it('leaves a later wait or offer of the same call unchanged if it names an earlier grant', async () => {
      const lock = fixture.resource();
      const alice = await fixture.request('s1', lock);
      const { fencingToken } = is('granted', await alice.try());
      const bob = await fixture.request('s2', lock);
      await bob.queue();
      is('withdrawn', await alice.giveBack(fencingToken));
      is('granted', await bob.claim());
      is('waiting', await alice.claim());
      is('withdrawn', await alice.giveBack(fencingToken));
      await bob.release(bob.secret);
      expect(await fixture.idsIn(lock, 'offers')).toEqual([alice.requestId]);
      is('withdrawn', await alice.giveBack(fencingToken));
      is('granted', await alice.claim());
    });

    it('keeps the place, so that the same request later waits in front of newer requests', async () => {
      const lock = fixture.resource();
      const alice = await fixture.request('s1', lock);
      const { fencingToken } = is('granted', await alice.try());
      const carol = await fixture.request('s1', lock);
      await carol.queue();
      is('withdrawn', await alice.giveBack());
      is('granted', await carol.claim());
      const dave = await fixture.request('s1', lock);
      await dave.queue();
      const again = await fixture.request('s2', lock, { requestId: alice.requestId });
      expect(is('waiting', await again.queue()).position).toBe(1);
      await carol.release(carol.secret);
      expect(is('granted', await again.claim()).fencingToken).toBeGreaterThan(fencingToken);
    });

    it('answers KEPT if another call of the request got the lease as its answer', async () => {
      const lock = fixture.resource();
      const alice = await fixture.request('s1', lock);
      is('granted', await alice.try());
      const retry = await fixture.request('s2', lock, { requestId: alice.requestId });
      const { secret } = is('granted', await retry.try());
      expect(await alice.giveBack()).toEqual({ kind: 'kept' });
      expect(await retry.giveBack()).toEqual({ kind: 'superseded' });
      is('granted', await retry.renew(secret));
    });

    it('answers KEPT after the holder has renewed the lease', async () => {
      const lock = fixture.resource();
      const alice = await fixture.request('s1', lock);
      is('granted', await alice.try());
      is('granted', await alice.renew(alice.secret));
      expect(await alice.giveBack()).toEqual({ kind: 'kept' });
    });

    it('answers KEPT to a stream that took over the lease, and SUPERSEDED to the call before', async () => {
      const lock = fixture.resource();
      const alice = await fixture.request('s1', lock);
      is('granted', await alice.try());
      const stream = await fixture.request('s2', lock, { requestId: alice.requestId, stream: true });
      is('granted', await stream.takeOver(alice.secret));
      expect(await alice.giveBack()).toEqual({ kind: 'superseded' });
      expect(await stream.giveBack()).toEqual({ kind: 'kept' });
      is('granted', await stream.keepAlive(alice.secret));
    });

    it('gives back a lease that was claimed twice because of a lost reply', async () => {
      const lock = fixture.resource();
      const { alice, bob } = await holderAndWaiter(lock);
      await alice.release(alice.secret);
      is('granted', await bob.claim());
      is('granted', await bob.claim());
      is('withdrawn', await bob.giveBack());
      expect((await fixture.stored(lock)).numbers.used).toBe('0');
    });

    it('frees no other lease if the withdrawal is sent again after a lost reply', async () => {
      const lock = fixture.resource();
      const { alice, bob } = await holderAndWaiter(lock);
      is('withdrawn', await alice.giveBack());
      is('granted', await bob.claim());
      is('withdrawn', await alice.giveBack());
      is('granted', await bob.renew(bob.secret));
      expect((await fixture.stored(lock)).sets.ends).toHaveLength(1);
    });
  });

  it('does not keep the place longer if the withdrawal is sent again', async () => {
    const lock = fixture.resource();
    const { bob } = await holderAndWaiter(lock);
    is('withdrawn', await bob.withdraw());
    await fixture.passInUse(lock, 6000);
    is('withdrawn', await bob.withdraw());
    is('withdrawn', await bob.giveBack());
    await fixture.passInUse(lock, 4001);
    await (await fixture.server('s1')).store.touch(lock, []);
    expect(await fixture.idsIn(lock, 'detached')).toEqual([]);
  });

  it('keeps the place for 10 s and then forgets the request', async () => {
    const lock = fixture.resource();
    const { bob } = await holderAndWaiter(lock);
    const { ticket } = bob;
    is('withdrawn', await bob.withdraw());
    await fixture.passInUse(lock, 9700);
    expect(is('waiting', await bob.queue()).ticket).toBe(ticket);
    is('withdrawn', await bob.withdraw());
    await fixture.passInUse(lock, 10_001);
    expect(BigInt(is('waiting', await bob.queue()).ticket)).toBeGreaterThan(BigInt(ticket));
  });
});
