import type { Resource } from '../../src/leases/lease';
import { LeaseFixture } from '../support/leases/lease-fixture';
import { brokenInvariants } from '../support/leases/lease-invariants';
import type { Requester } from '../support/leases/lease-requester';
import { is } from '../support/reply-kinds';

const HOUR_MS = 3_600_000;

/** After a step back, every stored end lies farther in the future. Scripts must shorten these times. */
describe('when the clock of Redis is set back', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true });
  });
  afterAll(() => fixture.close());

  /** The remaining time of each lease (ms), the longest first. */
  async function left(resource: Resource): Promise<number[]> {
    const now = Number(await fixture.now()) / 1000;
    const ends = (await fixture.stored(resource)).sets.ends.map(({ score }) => score / 1000 - now);
    return ends.sort((a, b) => b - a);
  }

  it('no lease lasts longer than its longest ttl, even with 151 leases', async () => {
    const semaphore = fixture.resource('semaphore');
    await fixture.setLimit(semaphore, 1000);
    const many = await fixture.requests(150, 's1', semaphore, { ttlMs: 20_000 });
    for (const one of many) is('granted', await one.try());
    const longer = await fixture.request('s1', semaphore, { ttlMs: 20_000 });
    is('granted', await longer.try());
    is('granted', await longer.renew(longer.secret, 90_000));
    await fixture.pass(semaphore, -HOUR_MS);
    await fixture.finishBatches(semaphore, () => Promise.resolve());
    const [first = 0, second = 0] = await left(semaphore);
    expect(first).toBeGreaterThan(80_000);
    expect(first).toBeLessThanOrEqual(90_000);
    expect(second).toBeLessThanOrEqual(20_000);
    expect(brokenInvariants(await fixture.stored(semaphore))).toEqual([]);
    expect((await fixture.stored(semaphore)).numbers.moving).toBeUndefined();
  });

  it('the lease of a crashed holder ends within its ttl', async () => {
    const lock = fixture.resource();
    is('granted', await (await fixture.request('s1', lock, { ttlMs: 10_000 })).try());
    await fixture.pass(lock, -HOUR_MS);
    is('refused', await (await fixture.request('s1', lock)).try());
    expect((await fixture.stored(lock)).numbers.moving).toBeUndefined();
    await fixture.passInUse(lock, 10_000);
    is('granted', await (await fixture.request('s1', lock)).try());
  });

  it.each([2, 20])('%i tombstones are kept for a minute after the step, like later ones', async (count) => {
    const lock = fixture.resource();
    const ended = async () => {
      const one = await fixture.request('s1', lock);
      is('granted', await one.try());
      is('released', await one.release(one.secret));
      return one;
    };
    const before: Requester[] = [];
    while (before.length < count) before.push(await ended());
    await fixture.pass(lock, -HOUR_MS);
    const after = await ended();
    await fixture.passInUse(lock, 30_000);
    is('finished', await after.release(after.secret));
    await fixture.passInUse(lock, 31_000);
    for (const one of [...before, after]) is('gone', await one.release(one.secret));
    expect(brokenInvariants(await fixture.stored(lock))).toEqual([]);
  });

  it('an offer lapses at most 3 s after the step', async () => {
    const lock = fixture.resource();
    const [alice, bob] = [await fixture.request('s1', lock), await fixture.request('s2', lock)];
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    is('released', await alice.release(alice.secret));
    await fixture.pass(lock, -HOUR_MS);
    is('refused', await (await fixture.request('s1', lock)).try());
    const [offer] = (await fixture.stored(lock)).sets.offers;
    expect((offer?.score ?? Infinity) / 1000 - Number(await fixture.now()) / 1000).toBeLessThanOrEqual(3000);
    is('granted', await bob.claim());
  });

  it.each([
    ['counts', 101, 3_000_000],
    ['does not count', 100, 3_100_000],
  ])('a step that %s as a step is one of %i ms', async (_, stepMs, leftUs) => {
    const lock = fixture.resource();
    const [alice, bob] = [await fixture.request('s2', lock), await fixture.request('s1', lock)];
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    is('released', await alice.release(alice.secret));
    await fixture.pass(lock, -stepMs);
    await bob.touch();
    const [offer] = (await fixture.stored(lock)).sets.offers;
    expect(Number(offer?.score) - Number(await fixture.now())).toBe(leftUs);
  });

  it('a holder without a record loses its place at once', async () => {
    const semaphore = fixture.resource('semaphore');
    await fixture.setLimit(semaphore, 2);
    const alice = await fixture.request('s1', semaphore);
    is('granted', await alice.try());
    const later = Number(await fixture.now()) + 20_000_000;
    await fixture.addGhost(semaphore, 'ends', later);
    await fixture.pass(semaphore, -HOUR_MS);
    await (await fixture.server('s1')).store.touch(semaphore, []);
    expect(await fixture.idsIn(semaphore, 'ends')).toEqual([alice.requestId]);
  });

  it.each([
    ['without a stall before', 0],
    ['after two stalls', 2],
  ])('no server is judged dead in the first 3 s after the step, %s', async (_, stalls) => {
    const lock = fixture.resource();
    const [alice, bob] = [await fixture.request('s1', lock), await fixture.request('s2', lock)];
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    for (let stall = 0; stall < stalls; stall += 1) {
      await fixture.pass(lock, 3500);
      await bob.touch();
    }
    await fixture.pass(lock, -HOUR_MS);
    is('released', await alice.release(alice.secret));
    expect(await fixture.idsIn(lock, 'offers')).toEqual([bob.requestId]);
  });

  it('a dead server is judged dead within 5 s, and a live server is not', async () => {
    const lock = fixture.resource();
    const alice = await fixture.request('s1', lock, { ttlMs: 60_000 });
    const [gone, bob] = [await fixture.request('s2', lock), await fixture.request('s3', lock)];
    is('granted', await alice.try());
    is('waiting', await gone.queue());
    is('waiting', await bob.queue());
    await fixture.pass(lock, -HOUR_MS);
    await bob.touch();
    // No server is judged in the first 3 s after the step.
    expect((await fixture.stored(lock)).sets.queue).toHaveLength(2);
    await fixture.passInUse(lock, 5000);
    await fixture.beat(lock, 's3');
    is('released', await alice.release(alice.secret));
    const { records } = await fixture.stored(lock);
    expect(records[gone.requestId]).toMatchObject({ state: 'detached' });
    expect(records[bob.requestId]).toMatchObject({ state: 'offered' });
  });
});
