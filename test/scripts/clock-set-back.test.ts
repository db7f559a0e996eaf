import type { Resource } from '../../src/engine/leases/lease';
import { PermitsFixture } from '../support/permits-fixture';
import { brokenInvariants } from '../support/permits-invariants';
import { is } from '../support/reply-kinds';

const HOUR_MS = 3_600_000;

/** What is measured by Redis's clock would last longer by as much as that is set back. */
describe('when the clock of Redis is set back', () => {
  let on: PermitsFixture;
  beforeAll(async () => {
    on = await PermitsFixture.open();
  });
  afterAll(() => on.close());

  /** How long each lease lasts still, the longest first (ms). */
  async function left(resource: Resource): Promise<number[]> {
    const now = Number(await on.now()) / 1000;
    const ends = (await on.stored(resource)).sets.ends.map(({ score }) => score / 1000 - now);
    return ends.sort((a, b) => b - a);
  }

  it('no lease lasts longer than the longest ttl that it was given, however many there are', async () => {
    const semaphore = on.resource('semaphore');
    await on.setLimit(semaphore, 1000);
    const many = await on.requests(150, 's1', semaphore, { ttlMs: 20_000 });
    for (const one of many) is('granted', await one.try());
    const longer = await on.request('s1', semaphore, { ttlMs: 20_000 });
    is('granted', await longer.try());
    is('granted', await longer.renew(longer.secret, 90_000));
    await on.pass(semaphore, -HOUR_MS);
    const server = await on.server('s1');
    for (let batch = 0; batch < 10; batch += 1) await server.store.touch(semaphore, []);
    const [first = 0, second = 0] = await left(semaphore);
    expect(first).toBeGreaterThan(80_000);
    expect(first).toBeLessThanOrEqual(90_000);
    expect(second).toBeLessThanOrEqual(20_000);
    expect(brokenInvariants(await on.stored(semaphore))).toEqual([]);
    expect((await on.stored(semaphore)).numbers.moving).toBeUndefined();
  });

  it('a crashed holder delays the next by its ttl, not by the step', async () => {
    const lock = on.resource();
    is('granted', await (await on.request('s1', lock, { ttlMs: 10_000 })).try());
    await on.pass(lock, -HOUR_MS);
    is('refused', await (await on.request('s1', lock)).try());
    await on.passInUse(lock, 10_000);
    is('granted', await (await on.request('s1', lock)).try());
  });

  it('an offer lapses as if it had just been made', async () => {
    const lock = on.resource();
    const [alice, bob] = [await on.request('s1', lock), await on.request('s2', lock)];
    is('granted', await alice.try());
    is('waiting', await bob.queue());
    is('released', await alice.release(alice.secret));
    await on.pass(lock, -HOUR_MS);
    is('refused', await (await on.request('s1', lock)).try());
    const [offer] = (await on.stored(lock)).sets.offers;
    expect((offer?.score ?? Infinity) / 1000 - Number(await on.now()) / 1000).toBeLessThanOrEqual(3000);
    is('granted', await bob.claim());
  });

  it('a server that is gone does not count as there until the clock is back, and one that lives is spared', async () => {
    const lock = on.resource();
    const alice = await on.request('s1', lock, { ttlMs: 60_000 });
    const [gone, bob] = [await on.request('s2', lock), await on.request('s3', lock)];
    is('granted', await alice.try());
    is('waiting', await gone.queue());
    is('waiting', await bob.queue());
    await on.pass(lock, -HOUR_MS);
    await bob.touch();
    // Both had no word yet, so neither is judged.
    expect((await on.stored(lock)).sets.queue).toHaveLength(2);
    await on.passInUse(lock, 5000);
    await on.beat(lock, 's3');
    is('released', await alice.release(alice.secret));
    const { records } = await on.stored(lock);
    expect(records[gone.requestId]).toMatchObject({ s: 'D' });
    expect(records[bob.requestId]).toMatchObject({ s: 'O' });
  });
});
