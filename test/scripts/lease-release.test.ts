import { eventually } from '../support/eventually';
import { LeaseFixture } from '../support/leases/lease-fixture';
import type { RequesterOptions } from '../support/leases/lease-requester';
import { is } from '../support/reply-kinds';

describe('lease-release', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

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
