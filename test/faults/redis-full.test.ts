import { Fleet } from './fleet';
import { CallEnded } from './held';
import { WaiterLine } from './waiter-line';
import { runScenario } from './scenario';

let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ members: [{}, {}] });
});

afterAll(() => fleet?.close());

test('a full Redis refuses new requests with STORE_FULL, and serves leases and waiters to their end', () =>
  runScenario({ fleet, title: 'full' }, async (scenario) => {
    const [one, other] = [fleet.member(0), fleet.member(1)];
    const [streamed, unary, queue, fresh] = [
      scenario.lock('streamed'),
      scenario.lock('unary'),
      scenario.lock('queue'),
      scenario.lock('fresh'),
    ];
    const alice = scenario.client('alice', one);
    const stream = alice.hold({ name: streamed, ttlMs: 2000 });
    const held = await stream.granted();
    const una = scenario.client('una', one);
    const unaryHeld = await una.acquire({ name: unary, ttlMs: 20_000 });
    const hank = scenario.client('hank', other);
    const first = await hank.hold({ name: queue, ttlMs: 2000 }).granted();
    for (const lease of [held, unaryHeld, first]) scenario.observer.watchLease(lease);
    const line = new WaiterLine(scenario, queue, other);
    await line.join('w1', one);
    await line.join('w2', other, 'unary');
    const impatient = scenario.client('impatient', one).hold({ name: queue, ttlMs: 2000, waitMs: 1000 });
    await impatient.queued();

    const end = scenario.fault('store_full', 'maxmemory below what is used');
    await fleet.redis.command('CONFIG', 'SET', 'maxmemory', '1');
    const refused = await Promise.all([
      una.acquire({ name: fresh, ttlMs: 2000 }).catch((error: unknown) => error),
      hank
        .hold({ name: fresh, ttlMs: 2000 })
        .granted()
        .catch((error: unknown) => error),
      hank.acquire({ name: queue, ttlMs: 2000 }).catch((error: unknown) => error),
    ]);
    for (const error of refused) {
      expect(error).toBeInstanceOf(CallEnded);
      const { code, reason, retryAfterMs } = (error as CallEnded).ending;
      expect({ code, reason }).toEqual({ code: 'RESOURCE_EXHAUSTED', reason: 'STORE_FULL' });
      expect(retryAfterMs).toBeGreaterThan(0);
    }

    await stream.more('renewed', 2);
    expect(stream.kinds).not.toContain('renewalFailed');
    expect((await una.renew(unaryHeld)).token).toBe(unaryHeld.token);
    expect(await impatient.ended).toMatchObject({ code: 'ABORTED', reason: 'CONTENDED' });
    expect((await hank.release(first)).released).toBe(true);
    await line.served();
    expect(line.order).toEqual(['w1', 'w2']);
    expect((await alice.release(held)).released).toBe(true);
    expect((await una.release(unaryHeld)).released).toBe(true);
    expect((await stream.ended).code).toBe('OK');

    await fleet.redis.command('CONFIG', 'SET', 'maxmemory', '0');
    end();
    await una.release(await una.acquire({ name: fresh, ttlMs: 2000 }));
  }));
