import { eventually } from '../support/eventually';
import { PermitsFixture } from '../support/permits-fixture';
import type { RequesterOptions } from '../support/permits-requester';
import { is } from '../support/reply-kinds';

describe('permits-release', () => {
  let on: PermitsFixture;
  beforeAll(async () => {
    on = await PermitsFixture.open();
  });
  afterAll(() => on.close());

  async function held(options: RequesterOptions = {}) {
    const lock = on.resource();
    const alice = await on.request('s1', lock, { ttlMs: 10_000, ...options });
    is('granted', await alice.queue());
    return { lock, alice };
  }

  it('frees the lock for the next in line, who is told', async () => {
    const { lock, alice } = await held();
    const s2 = await on.server('s2');
    await on.listen(s2);
    const bob = await on.request('s2', lock);
    await bob.queue();
    is('released', await alice.release(alice.secret));
    await eventually('the hint', () => s2.hinted.includes(bob.requestId));
    is('granted', await bob.claim());
  });

  it('twice answers that it was released, and frees nobody else', async () => {
    const { lock, alice } = await held();
    const bob = await on.request('s1', lock);
    await bob.queue();
    is('released', await alice.release(alice.secret));
    is('granted', await bob.claim());
    expect(await alice.release(alice.secret)).toEqual({ kind: 'finished', cause: 'released' });
    is('granted', await bob.renew(bob.secret));
    await on.passInUse(lock, 59_700);
    expect(await alice.release(alice.secret)).toEqual({ kind: 'finished', cause: 'released' });
    await on.passInUse(lock, 400);
    is('gone', await alice.release(alice.secret));
  });

  it('of a lease that has expired says so (chapter 20)', async () => {
    const { lock, alice } = await held();
    await on.passInUse(lock, 10_001);
    expect(await alice.release(alice.secret)).toEqual({ kind: 'finished', cause: 'expired' });
  });

  it('needs the secret, and frees nobody without it (chapter 18)', async () => {
    const { lock, alice } = await held();
    const bob = await on.request('s1', lock);
    await bob.queue();
    is('gone', await alice.release(bob.secret));
    is('gone', await bob.release(bob.secret));
    is('granted', await alice.renew(alice.secret));
    is('gone', await (await on.request('s1', on.resource())).release(alice.secret));
  });

  it('tells the stream that holds the lease', async () => {
    const { lock, alice } = await held({ stream: true });
    const s1 = await on.server('s1');
    s1.looks = [];
    is('released', await alice.release(alice.secret));
    expect(s1.looks).toEqual([alice.requestId]);
    expect(await alice.keepAlive(alice.secret)).toEqual({ kind: 'finished', cause: 'released' });
    await on.listen(s1);
    const other = await on.request('s1', lock, { stream: true });
    is('granted', await other.queue());
    is(
      'released',
      await (await on.request('s2', lock, { requestId: other.requestId })).release(other.secret),
    );
    await eventually('the hint from the other server', () => s1.hinted.includes(other.requestId));
  });

  it('takes back one lease of several, by weight', async () => {
    const semaphore = on.resource('semaphore');
    const holders = [3, 1].map((permits) => ({ permits, initialLimit: 4 }));
    const [three, one] = [
      await on.request('s1', semaphore, holders[0]),
      await on.request('s1', semaphore, holders[1]),
    ];
    is('granted', await three.try());
    is('granted', await one.try());
    is('released', await three.release(three.secret));
    expect((await on.stored(semaphore)).numbers.used).toBe('1');
    is('granted', await (await on.request('s1', semaphore, { permits: 3 })).try());
  });

  describe('by a stream that has told its holder of the loss', () => {
    it('ends what an unanswered renewal may have left, as expired', async () => {
      const { lock, alice } = await held({ stream: true });
      is('released', await alice.releaseAfterLoss(alice.secret));
      expect(await alice.release(alice.secret)).toEqual({ kind: 'finished', cause: 'expired' });
      is('granted', await (await on.request('s1', lock)).try());
    });

    it('ends what it has taken over', async () => {
      const { lock, alice } = await held({ stream: true });
      const newer = await on.request('s2', lock, { requestId: alice.requestId, stream: true });
      is('granted', await newer.takeOver(alice.secret));
      is('released', await newer.releaseAfterLoss(alice.secret));
    });

    it('leaves alone what another stream has taken over', async () => {
      const { lock, alice } = await held({ stream: true });
      const newer = await on.request('s2', lock, { requestId: alice.requestId, stream: true });
      is('granted', await newer.takeOver(alice.secret));
      is('superseded', await alice.releaseAfterLoss(alice.secret));
      is('granted', await newer.keepAlive(alice.secret));
    });

    it('leaves alone what was renewed by its id since: its end is no longer the one it knows', async () => {
      const { alice } = await held({ stream: true });
      is('granted', await alice.renew(alice.secret));
      is('superseded', await alice.releaseAfterLoss(alice.secret));
      is('granted', await alice.renew(alice.secret));
    });

    it('leaves alone what a unary acquire was answered with', async () => {
      const { lock, alice } = await held({ stream: true });
      is('granted', await (await on.request('s2', lock, { requestId: alice.requestId })).try());
      is('superseded', await alice.releaseAfterLoss(alice.secret));
    });

    it('too late is told how it ended', async () => {
      const { alice } = await held({ stream: true });
      is('released', await alice.release(alice.secret));
      expect(await alice.releaseAfterLoss(alice.secret)).toEqual({ kind: 'finished', cause: 'released' });
    });
  });
});
