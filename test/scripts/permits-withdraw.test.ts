import type { Resource } from '../../src/engine/leases/lease';
import { PermitsFixture } from '../support/permits-fixture';
import type { RequesterOptions } from '../support/permits-requester';
import { is } from '../support/reply-kinds';

describe('permits-withdraw', () => {
  let on: PermitsFixture;
  beforeAll(async () => {
    on = await PermitsFixture.open();
  });
  afterAll(() => on.close());

  const offered = async (resource: Resource) => (await on.stored(resource)).sets.offers.map(({ id }) => id);

  async function holderAndWaiter(lock: Resource, options?: RequesterOptions) {
    const alice = await on.request('s1', lock, { ttlMs: 20_000 });
    const bob = await on.request('s1', lock, options);
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    return { alice, bob };
  }

  describe('by a caller that takes a grant', () => {
    it('ends a wait, and tells what it waited for', async () => {
      const lock = on.resource();
      const { bob } = await holderAndWaiter(lock);
      const { snapshot } = is('withdrawn', await bob.withdraw());
      expect(snapshot).toMatchObject({ waiterCount: 0, holder: { holderId: '' } });
      expect((await on.stored(lock)).sets.queue).toEqual([]);
    });

    it('is granted what it was offered meanwhile', async () => {
      const lock = on.resource();
      const { alice, bob } = await holderAndWaiter(lock, { ttlMs: 6000 });
      await alice.release(alice.secret);
      expect(is('granted', await bob.withdraw())).toMatchObject({ remainingMs: 6000, secret: bob.secret });
    });

    it('is granted what comes free by this very command', async () => {
      const lock = on.resource();
      const { bob } = await holderAndWaiter(lock);
      await on.passInUse(lock, 20_001);
      await on.beat(lock, 's1');
      is('granted', await bob.withdraw());
    });

    it('is granted again what a lost reply had granted, never for a shorter time', async () => {
      const lock = on.resource();
      const { alice, bob } = await holderAndWaiter(lock, { ttlMs: 6000 });
      await alice.release(alice.secret);
      const { fencingToken } = is('granted', await bob.claim());
      await on.passInUse(lock, 2000);
      expect(is('granted', await bob.withdraw())).toMatchObject({ fencingToken, remainingMs: 6000 });
    });

    it('offers what is free to whoever waited behind it', async () => {
      const semaphore = on.resource('semaphore');
      const holder = await on.request('s1', semaphore, { initialLimit: 3, permits: 2 });
      const heavy = await on.request('s1', semaphore, { permits: 3 });
      const light = await on.request('s1', semaphore, { permits: 1 });
      is('granted', await holder.try());
      is('waiting', await heavy.queue());
      is('waiting', await light.queue());
      is('withdrawn', await heavy.withdraw());
      expect(await offered(semaphore)).toEqual([light.requestId]);
      is('granted', await light.claim());
    });

    it('leaves such a grant its ttl, and no more than that when the clock of Redis was set back', async () => {
      const lock = on.resource();
      const { alice, bob } = await holderAndWaiter(lock, { ttlMs: 6000 });
      await alice.release(alice.secret);
      is('granted', await bob.claim());
      await on.pass(lock, -5000);
      expect(is('granted', await bob.withdraw()).remainingMs).toBe(6000);
    });

    it('twice, or of a request that is not known, says the same', async () => {
      const lock = on.resource();
      const { bob } = await holderAndWaiter(lock);
      is('withdrawn', await bob.withdraw());
      is('withdrawn', await bob.withdraw());
      is('withdrawn', await (await on.request('s1', lock)).withdraw());
    });

    it('of a lease that has ended says so', async () => {
      const lock = on.resource();
      const alice = await on.request('s1', lock);
      is('granted', await alice.try());
      await alice.release(alice.secret);
      expect(await alice.withdraw()).toEqual({ kind: 'finished', cause: 'released' });
    });
  });

  describe('by a caller that is gone', () => {
    it('gives a grant back of which nobody was told, and the next waiter has it', async () => {
      const lock = on.resource();
      const { alice, bob } = await holderAndWaiter(lock);
      is('withdrawn', await alice.giveBack());
      expect(await offered(lock)).toEqual([bob.requestId]);
      is('granted', await bob.claim());
    });

    it('gives an offer back, and the next waiter has it', async () => {
      const lock = on.resource();
      const { alice, bob } = await holderAndWaiter(lock);
      const carol = await on.request('s1', lock);
      await carol.queue();
      await alice.release(alice.secret);
      is('withdrawn', await bob.giveBack());
      expect(await offered(lock)).toEqual([carol.requestId]);
      is('granted', await carol.claim());
    });

    it('gives back the grant that it names, and when it runs once more, not the next one', async () => {
      const lock = on.resource();
      const alice = await on.request('s1', lock);
      const { fencingToken } = is('granted', await alice.try());
      is('withdrawn', await alice.giveBack(fencingToken));
      const next = is('granted', await alice.claim());
      expect(next.fencingToken).toBeGreaterThan(fencingToken);
      is('withdrawn', await alice.giveBack(fencingToken));
      expect(await alice.server.store.inspect(lock)).toMatchObject({ holderCount: 1 });
      is('withdrawn', await alice.giveBack(next.fencingToken));
      expect(await alice.server.store.inspect(lock)).toMatchObject({ holderCount: 0 });
    });

    it('leaves the wait and the offer of a call that has given back what came too late', async () => {
      const lock = on.resource();
      const alice = await on.request('s1', lock);
      const { fencingToken } = is('granted', await alice.try());
      const bob = await on.request('s1', lock);
      await bob.queue();
      is('withdrawn', await alice.giveBack(fencingToken));
      is('granted', await bob.claim());
      is('waiting', await alice.claim());
      is('withdrawn', await alice.giveBack(fencingToken));
      await bob.release(bob.secret);
      expect(await offered(lock)).toEqual([alice.requestId]);
      is('withdrawn', await alice.giveBack(fencingToken));
      is('granted', await alice.claim());
    });

    it('keeps the place: the same request comes back in front of those behind it, as if never granted', async () => {
      const lock = on.resource();
      const alice = await on.request('s1', lock);
      const { fencingToken } = is('granted', await alice.try());
      const carol = await on.request('s1', lock);
      await carol.queue();
      is('withdrawn', await alice.giveBack());
      is('granted', await carol.claim());
      const dave = await on.request('s1', lock);
      await dave.queue();
      const again = await on.request('s2', lock, { requestId: alice.requestId });
      expect(is('waiting', await again.queue()).position).toBe(1);
      await carol.release(carol.secret);
      expect(is('granted', await again.claim()).fencingToken).toBeGreaterThan(fencingToken);
    });

    it('gives back nothing that another call was answered with', async () => {
      const lock = on.resource();
      const alice = await on.request('s1', lock);
      is('granted', await alice.try());
      const retry = await on.request('s2', lock, { requestId: alice.requestId });
      const { secret } = is('granted', await retry.try());
      expect(await alice.giveBack()).toEqual({ kind: 'kept' });
      expect(await retry.giveBack()).toEqual({ kind: 'superseded' });
      is('granted', await retry.renew(secret));
    });

    it('gives back nothing once its holder has renewed it by its id', async () => {
      const lock = on.resource();
      const alice = await on.request('s1', lock);
      is('granted', await alice.try());
      is('granted', await alice.renew(alice.secret));
      expect(await alice.giveBack()).toEqual({ kind: 'kept' });
    });

    it('gives back nothing that a stream has taken over, be it this one or another', async () => {
      const lock = on.resource();
      const alice = await on.request('s1', lock);
      is('granted', await alice.try());
      const stream = await on.request('s2', lock, { requestId: alice.requestId, stream: true });
      is('granted', await stream.takeOver(alice.secret));
      expect(await alice.giveBack()).toEqual({ kind: 'superseded' });
      expect(await stream.giveBack()).toEqual({ kind: 'kept' });
      is('granted', await stream.keepAlive(alice.secret));
    });

    it('can give back what it claimed again after a lost reply', async () => {
      const lock = on.resource();
      const { alice, bob } = await holderAndWaiter(lock);
      await alice.release(alice.secret);
      is('granted', await bob.claim());
      is('granted', await bob.claim());
      is('withdrawn', await bob.giveBack());
      expect((await on.stored(lock)).numbers.used).toBe('0');
    });

    it("twice, as after a lost reply, frees nobody else's permits", async () => {
      const lock = on.resource();
      const { alice, bob } = await holderAndWaiter(lock);
      is('withdrawn', await alice.giveBack());
      is('granted', await bob.claim());
      is('withdrawn', await alice.giveBack());
      is('granted', await bob.renew(bob.secret));
      expect((await on.stored(lock)).sets.ends).toHaveLength(1);
    });
  });

  it('keeps the place for ten seconds, then forgets the request without a trace', async () => {
    const lock = on.resource();
    const { bob } = await holderAndWaiter(lock);
    const { ticket } = bob;
    is('withdrawn', await bob.withdraw());
    await on.passInUse(lock, 9700);
    expect(is('waiting', await bob.queue()).ticket).toBe(ticket);
    is('withdrawn', await bob.withdraw());
    await on.passInUse(lock, 10_001);
    expect(BigInt(is('waiting', await bob.queue()).ticket)).toBeGreaterThan(BigInt(ticket));
  });
});
