import { setTimeout as sleep } from 'node:timers/promises';
import { Fleet } from './fleet';
import { CallEnded } from './held';
import { WaiterLine } from './waiter-line';
import { runScenario } from './scenario';

let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ redis: { appendfsync: 'always' }, members: [{}, {}] });
});

afterAll(() => fleet?.close());

test('leases, tokens and places survive a SIGKILL and restart of Redis with its data', () =>
  runScenario({ fleet, title: 'redis restarted' }, async (scenario) => {
    const [one, other] = [fleet.member(0), fleet.member(1)];
    const [streamed, unary, queue] = [
      scenario.lock('streamed'),
      scenario.lock('unary'),
      scenario.lock('queue'),
    ];
    const alice = scenario.client('alice', one);
    const stream = alice.hold({ name: streamed, ttlMs: 5000 });
    const held = await stream.granted();
    const una = scenario.client('una', other);
    const unaryHeld = await una.acquire({ name: unary, ttlMs: 5000 });
    const hank = scenario.client('hank', one);
    const hankHolds = hank.hold({ name: queue, ttlMs: 5000 });
    const first = await hankHolds.granted();
    for (const lease of [held, unaryHeld, first]) scenario.observer.watchLease(lease);
    const line = new WaiterLine(scenario, queue, other);
    await line.join('w1', one);
    await line.join('w2', other);
    await line.join('w3', one, 'unary');

    const end = scenario.fault('redis_restarted', 'SIGKILL and start, appendfsync always');
    await fleet.redis.kill();
    // Without a connection, servers send no command and calls end soon.
    await sleep(1200);
    const refused: unknown = await una.renew(unaryHeld).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(CallEnded);
    expect((refused as CallEnded).ending).toMatchObject({ code: 'UNAVAILABLE', reason: 'STORE_UNAVAILABLE' });
    await fleet.redis.restart();
    end();

    await stream.more('renewed');
    expect(stream.kinds).not.toContain('lost');
    expect((await una.renew(unaryHeld)).token).toBe(unaryHeld.token);
    await hankHolds.more('renewed');
    expect(line.order).toEqual([]);
    await line.allQueued();
    await hank.release(first);
    await line.served();
    expect(line.order).toEqual(['w1', 'w2', 'w3']);
    await Promise.all([alice.release(held), una.release(unaryHeld)]);
    expect((await stream.ended).code).toBe('OK');
  }));
