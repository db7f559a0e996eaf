import type { Resource } from '../../../src/leases/lease';
import { eventually } from '../../support/eventually';
import { LeaseFixture } from '../../support/leases/lease-fixture';
import type { RequesterOptions } from '../../support/leases/lease-requester';
import { is } from '../../support/reply-kinds';

let fixture: LeaseFixture;
beforeAll(async () => {
  fixture = await LeaseFixture.open({ frozenClock: true });
});
afterAll(() => fixture.close());

describe('lease-release', () => {
  async function held(options: RequesterOptions = {}) {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 10_000, ...options });
    is('granted', await alice.queue());
    return { lock, alice };
  }

  it('offers the lock to the next waiter and sends a hint to its server', async () => {
    const { lock, alice } = await held();
    const s2 = await fixture.server('s2');
    await fixture.listen(s2);
    const bob = await fixture.request('s2', lock);
    await bob.queue();
    is('released', await alice.release(alice.secret));
    await eventually('the hint', () => s2.hinted.includes(bob.requestId));
    is('granted', await bob.claim());
  });

  it('answers ENDED to a second release, and frees no other lease', async () => {
    const { lock, alice } = await held();
    const bob = await fixture.request('s1', lock);
    await bob.queue();
    is('released', await alice.release(alice.secret));
    is('granted', await bob.claim());
    expect(await alice.release(alice.secret)).toEqual({ kind: 'finished', cause: 'released' });
    is('granted', await bob.renew(bob.secret));
    await fixture.passInUse(lock, 59_700);
    expect(await alice.release(alice.secret)).toEqual({ kind: 'finished', cause: 'released' });
    await fixture.passInUse(lock, 400);
    is('gone', await alice.release(alice.secret));
  });

  it('answers ENDED with the cause `expired` after the lease has expired (chapter 20)', async () => {
    const { lock, alice } = await held();
    await fixture.passInUse(lock, 10_001);
    expect(await alice.release(alice.secret)).toEqual({ kind: 'finished', cause: 'expired' });
  });

  it('answers GONE without the right secret, and frees nothing (chapter 18)', async () => {
    const { lock, alice } = await held();
    const bob = await fixture.request('s1', lock);
    await bob.queue();
    is('gone', await alice.release(bob.secret));
    is('gone', await bob.release(bob.secret));
    is('granted', await alice.renew(alice.secret));
    is('gone', await (await fixture.request('s1', fixture.resource())).release(alice.secret));
  });

  it('notifies the stream that holds the lease, on this server or another server', async () => {
    const { lock, alice } = await held({ stream: true });
    const s1 = await fixture.server('s1');
    s1.rechecks = [];
    is('released', await alice.release(alice.secret));
    expect(s1.rechecks).toEqual([alice.requestId]);
    expect(await alice.keepAlive(alice.secret)).toEqual({ kind: 'finished', cause: 'released' });
    await fixture.listen(s1);
    const other = await fixture.request('s1', lock, { stream: true });
    is('granted', await other.queue());
    is(
      'released',
      await (await fixture.request('s2', lock, { requestId: other.requestId })).release(other.secret),
    );
    await eventually('the hint from the other server', () => s1.hinted.includes(other.requestId));
  });

  it('leaves a tombstone without token, ticket and metadata', async () => {
    const { lock, alice } = await held({ metadata: { job: '7' } });
    is('released', await alice.release(alice.secret));
    const { attach, secret } = alice;
    const tombstone = { state: 'ended', cause: 'released', attach, secret };
    expect((await fixture.stored(lock)).records[alice.requestId]).toEqual(tombstone);
  });

  it('frees exactly the permits of its own lease', async () => {
    const semaphore = fixture.resource('semaphore');
    const holders = [3, 1].map((permits) => ({ permits, initialLimit: 4 }));
    const [three, one] = [
      await fixture.request('s1', semaphore, holders[0]),
      await fixture.request('s1', semaphore, holders[1]),
    ];
    is('granted', await three.try());
    is('granted', await one.try());
    is('released', await three.release(three.secret));
    expect((await fixture.stored(semaphore)).numbers.used).toBe('1');
    is('granted', await (await fixture.request('s1', semaphore, { permits: 3 })).try());
  });

  describe('by a stream that has reported `lost`', () => {
    it('ends a lease that an unanswered renewal may have prolonged, with the cause `expired`', async () => {
      const { lock, alice } = await held({ stream: true });
      is('released', await alice.releaseAfterLoss(alice.secret));
      expect(await alice.release(alice.secret)).toEqual({ kind: 'finished', cause: 'expired' });
      is('granted', await (await fixture.request('s1', lock)).try());
    });

    it('ends a lease that the same stream took over', async () => {
      const { lock, alice } = await held({ stream: true });
      const newer = await fixture.request('s2', lock, { requestId: alice.requestId, stream: true });
      is('granted', await newer.takeOver(alice.secret));
      is('released', await newer.releaseAfterLoss(alice.secret));
    });

    it('answers SUPERSEDED if another stream took over the lease', async () => {
      const { lock, alice } = await held({ stream: true });
      const newer = await fixture.request('s2', lock, { requestId: alice.requestId, stream: true });
      is('granted', await newer.takeOver(alice.secret));
      is('superseded', await alice.releaseAfterLoss(alice.secret));
      is('granted', await newer.keepAlive(alice.secret));
    });

    it('answers SUPERSEDED if a unary call renewed the lease', async () => {
      const { alice } = await held({ stream: true });
      is('granted', await alice.renew(alice.secret));
      is('superseded', await alice.releaseAfterLoss(alice.secret));
      is('granted', await alice.renew(alice.secret));
    });

    it('answers SUPERSEDED if a unary acquire got the lease as its answer', async () => {
      const { lock, alice } = await held({ stream: true });
      is('granted', await (await fixture.request('s2', lock, { requestId: alice.requestId })).try());
      is('superseded', await alice.releaseAfterLoss(alice.secret));
    });

    it('answers ENDED with the cause if the lease had already ended', async () => {
      const { alice } = await held({ stream: true });
      is('released', await alice.release(alice.secret));
      expect(await alice.releaseAfterLoss(alice.secret)).toEqual({ kind: 'finished', cause: 'released' });
    });
  });
});

describe('lease-withdraw', () => {
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
