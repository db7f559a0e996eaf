import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '../../generated/typescript/grpc/health/v1/health';
import { health } from '../support/clients/calls';
import { eventually } from '../support/eventually';
import { Fleet } from './fleet';
import { CallEnded } from './held';
import { WaiterLine } from './waiter-line';
import { runScenario } from './scenario';

/** Longer than every lease of the test, and longer than the silence after which a server counts as dead. */
const STOP_MS = 7000;
/** The delay between the continuation of Redis and of the first server's link. */
const LATE_MS = 500;
const COMMAND_TIMEOUT_MS = 2000;

let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ members: [{ redisProxy: true }, {}] });
});

afterAll(() => fleet?.close());

test('while Redis is paused, streams end with LEASE_LOST, calls are answered in time, and no newcomer overtakes a waiter', () =>
  runScenario({ fleet, title: 'redis paused', witness: fleet.member(1) }, async (scenario) => {
    const [one, other] = [fleet.member(0), fleet.member(1)];
    const [streamed, asked, queue] = [
      scenario.lock('streamed'),
      scenario.lock('asked'),
      scenario.lock('queue'),
    ];
    const alice = scenario.client('alice', one);
    const stream = alice.hold({ name: streamed, ttlMs: 2000 });
    const hank = scenario.client('hank', one);
    const hankHolds = hank.hold({ name: queue, ttlMs: 2000 });
    for (const held of [await stream.granted(), await hankHolds.granted()])
      scenario.observer.watchLease(held);
    const line = new WaiterLine(scenario, queue, other);
    await line.join('w1', one);
    await line.join('w2', one);
    await line.join('w3', other);
    await stream.more('renewed');

    const end = scenario.fault('redis_stopped', 'SIGSTOP');
    await fleet.redis.stop();
    // The heartbeats of this server arrive only after Redis continues. They must still count.
    one.redisProxy.blackHole('toTarget');
    const stopwatch = scenario.stopwatch();

    // The call fails within the command timeout. Its outcome is unknown, because Redis may run the call later.
    const dora = scenario.client('dora', one);
    const request = { name: asked, ttlMs: 2000, requestId: randomUUID() };
    const unknown: unknown = await dora.acquire(request).catch((error: unknown) => error);
    expect(unknown).toBeInstanceOf(CallEnded);
    expect((unknown as CallEnded).ending).toMatchObject({ code: 'UNAVAILABLE', reason: 'OUTCOME_UNKNOWN' });
    expect(stopwatch.chargedMs).toBeLessThan(COMMAND_TIMEOUT_MS + 750);

    expect(await stream.ended).toMatchObject({ code: 'ABORTED', reason: 'LEASE_LOST' });
    expect(stream.lossCause).toBe('STORE_UNAVAILABLE');
    expect(stream.count('renewalFailed')).toBeGreaterThan(0);
    expect((await hankHolds.ended).reason).toBe('LEASE_LOST');
    await eventually('NOT_SERVING', async () => (await health(one.address)) === ServingStatus.NOT_SERVING);

    await sleep(Math.max(0, STOP_MS - 1000 - stopwatch.elapsedMs));
    // The newcomer's command is in the socket when Redis continues, ahead of the waiters' heartbeat.
    line.joinUnseen('newcomer', other);
    await sleep(Math.max(0, STOP_MS - stopwatch.elapsedMs));
    await fleet.redis.cont();
    await sleep(LATE_MS);
    one.redisProxy.passEverything();
    end();

    await line.served();
    expect(line.order).toEqual(['w1', 'w2', 'w3', 'newcomer']);
    // The request without an answer from Redis may be granted by now. A retry shows the outcome.
    await dora.release(await dora.acquire(request));
    await eventually('SERVING', async () => (await health(one.address)) === ServingStatus.SERVING);
  }));
