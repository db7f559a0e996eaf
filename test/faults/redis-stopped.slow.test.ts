import { credentials } from '@grpc/grpc-js';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  HealthCheckResponse_ServingStatus as ServingStatus,
  HealthClient,
} from '../../generated/typescript/grpc/health/v1/health';
import { eventually } from '../support/eventually';
import { Fleet, type Member } from './fleet';
import { CallEnded } from './held';
import { WaiterLine } from './waiter-line';
import { runScenario } from './scenario';

/** Longer than any lease here, and than the silence after which a server counts as dead. */
const STOP_MS = 7000;
/** How much later than Redis the first server's network goes on. */
const LATE_MS = 500;
const COMMAND_TIMEOUT_MS = 2000;

let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ members: [{ redisProxy: true }, {}] });
});

afterAll(() => fleet?.close());

function health(member: Member): Promise<ServingStatus> {
  const client = new HealthClient(member.address, credentials.createInsecure());
  return new Promise<ServingStatus>((resolve, reject) => {
    client.check({ service: '' }, (error, answer) =>
      error === null ? resolve(answer.status) : reject(error),
    );
  }).finally(() => client.close());
}

test('a Redis that stands still: deadlines end belief, calls are answered, and nobody passes who came later', () =>
  runScenario({ fleet, title: 'redis stopped', witness: fleet.member(1) }, async (scenario) => {
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
    // When Redis goes on, this server's heartbeats are still on their way: they must not be missed.
    one.redisProxy.blackHole('toTarget');
    const stoppedAt = performance.now();

    // A call that is sent now may be carried out, later: it says so, within the time for a command.
    const dora = scenario.client('dora', one);
    const request = { name: asked, ttlMs: 2000, requestId: randomUUID() };
    const unknown: unknown = await dora.acquire(request).catch((error: unknown) => error);
    expect(unknown).toBeInstanceOf(CallEnded);
    expect((unknown as CallEnded).ending).toMatchObject({ code: 'UNAVAILABLE', reason: 'OUTCOME_UNKNOWN' });
    expect(performance.now() - stoppedAt).toBeLessThan(COMMAND_TIMEOUT_MS + 750);

    expect(await stream.ended).toMatchObject({ code: 'ABORTED', reason: 'LEASE_LOST' });
    expect(stream.lossCause).toBe('STORE_UNAVAILABLE');
    expect(stream.count('renewalFailed')).toBeGreaterThan(0);
    expect((await hankHolds.ended).reason).toBe('LEASE_LOST');
    await eventually('NOT_SERVING', async () => (await health(one)) === ServingStatus.NOT_SERVING);

    await sleep(Math.max(0, STOP_MS - 1000 - (performance.now() - stoppedAt)));
    // Its command lies in the socket when Redis goes on, ahead of the heartbeat of those who wait.
    line.joinUnseen('newcomer', other);
    await sleep(Math.max(0, STOP_MS - (performance.now() - stoppedAt)));
    await fleet.redis.cont();
    await sleep(LATE_MS);
    one.redisProxy.passEverything();
    end();

    await line.served();
    expect(line.order).toEqual(['w1', 'w2', 'w3', 'newcomer']);
    // What was sent before Redis stopped may be granted by now, or not: the same request tells.
    await dora.release(await dora.acquire(request));
    await eventually('SERVING', async () => (await health(one)) === ServingStatus.SERVING);
  }));
