import { Fleet } from './fleet';
import { CallEnded } from './held';
import { WaiterLine } from './waiter-line';
import { runScenario } from './scenario';

let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ members: [{}, {}] });
});

afterAll(() => fleet?.close());

test('a full Redis refuses new permits with STORE_FULL, and runs renewals, releases, limit changes and deletions', () =>
  runScenario({ fleet, title: 'full' }, async (scenario) => {
    const [one, other] = [fleet.member(0), fleet.member(1)];
    const [name, gone] = [await scenario.semaphore('permits', 4), await scenario.semaphore('gone', 2)];
    const operator = scenario.operator('operator', other);
    const alice = scenario.client('alice', one, 'semaphore');
    const stream = alice.hold({ name, ttlMs: 2000, permits: 3 });
    const held = await stream.granted();
    const una = scenario.client('una', one, 'semaphore');
    const unaryHeld = await una.acquire({ name, ttlMs: 20_000 });
    for (const lease of [held, unaryHeld]) scenario.observer.watchLease(lease);
    const line = new WaiterLine(scenario, name, other);
    await line.join('w1 of 2', one, 'stream', { permits: 2 });
    await line.join('w2 of 3', other, 'unary', { permits: 3 });

    const end = scenario.fault('store_full', 'maxmemory below what is used');
    await fleet.redis.command('CONFIG', 'SET', 'maxmemory', '1');
    for (const asked of [
      una.acquire({ name, ttlMs: 2000 }),
      una.acquire({ name: gone, ttlMs: 2000 }),
      una.hold({ name, ttlMs: 2000 }).granted(),
    ]) {
      const refused: unknown = await asked.catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(CallEnded);
      expect((refused as CallEnded).ending).toMatchObject({
        code: 'RESOURCE_EXHAUSTED',
        reason: 'STORE_FULL',
      });
    }
    await stream.more('renewed', 2);
    expect(stream.kinds).not.toContain('renewalFailed');
    expect((await una.renew(unaryHeld)).token).toBe(unaryHeld.token);

    // The raised limit admits the first waiter. The lowered limit keeps the second waiter in the queue.
    expect(await operator.setLimit(name, 6, 4)).toEqual([]);
    await scenario.observer.waiterCount(name, 1);
    expect(await operator.setLimit(name, 3, 6)).toEqual([]);
    expect(await operator.delete(gone, false)).toEqual([]);
    expect((await una.release(unaryHeld)).released).toBe(true);
    expect((await alice.release(held)).released).toBe(true);
    await line.served();
    expect(line.order).toEqual(['w1 of 2', 'w2 of 3']);

    await fleet.redis.command('CONFIG', 'SET', 'maxmemory', '0');
    end();
    await una.release(await una.acquire({ name, ttlMs: 2000, permits: 3 }));
  }));
