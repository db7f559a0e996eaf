import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '../../generated/typescript/grpc/health/v1/health';
import { StoreState } from '../../generated/typescript/holdfast/v1/server_service';
import { endQuarantine, health, serverInfo } from '../support/clients/calls';
import { eventually } from '../support/eventually';
import { Fleet } from './fleet';
import { CallEnded } from './held';
import { runScenario } from './scenario';
import { WaiterLine } from './waiter-line';

describe('redis flushed', () => {
  const TTL_MS = 3000;
  /** The sum of the longest ttl, the bound of a replica's lag (10 s), and 5 s. */
  const QUARANTINE_MS = TTL_MS + 15_000;
  const env = { HOLDFAST_MAX_TTL: `${TTL_MS}ms`, HOLDFAST_DEFAULT_TTL: `${TTL_MS}ms` };

  let fleet: Fleet;

  beforeAll(async () => {
    fleet = await Fleet.start({ members: [{ env }, { env }] });
  });

  afterAll(() => fleet?.close());

  test('after FLUSHALL, holders get STORE_RESET within a renewal interval, grants pause, waiters keep their order and tokens rise', () =>
    runScenario({ fleet, title: 'flushed' }, async (scenario) => {
      const [one, other] = [fleet.member(0), fleet.member(1)];
      const [streamed, unary, queue] = [
        scenario.lock('streamed'),
        scenario.lock('unary'),
        scenario.lock('queue'),
      ];
      const alice = scenario.client('alice', other);
      const stream = alice.hold({ name: streamed, ttlMs: TTL_MS });
      await stream.granted();
      const una = scenario.client('una', other);
      const unaryHeld = await una.acquire({ name: unary, ttlMs: TTL_MS });
      const hank = scenario.client('hank', other);
      const hankHolds = hank.hold({ name: queue, ttlMs: TTL_MS });
      const first = await hankHolds.granted();
      const line = new WaiterLine(scenario, queue, other);
      for (const label of ['w1', 'w2', 'w3', 'w4']) await line.join(label, one);
      const mixed = scenario.lock('mixed queue');
      const ina = scenario.client('ina', other);
      await ina.hold({ name: mixed, ttlMs: TTL_MS }).granted();
      const mixedLine = new WaiterLine(scenario, mixed, other, 1500);
      for (const [index, label] of ['m1', 'm2', 'm3', 'm4'].entries()) {
        await mixedLine.join(label, fleet.member(index % 2));
      }
      await stream.more('renewed');

      const end = scenario.fault('redis_flushed', 'FLUSHALL');
      await fleet.redis.command('FLUSHALL');
      const stopwatch = scenario.stopwatch();

      for (const each of [stream, hankHolds]) {
        expect(await each.ended).toMatchObject({
          code: 'ABORTED',
          reason: 'LEASE_LOST',
          metadata: { cause: 'STORE_RESET' },
        });
        expect(each.kinds.at(-1)).toBe('lost');
        expect(stopwatch.chargedMs).toBeLessThan(TTL_MS / 3 + 750);
      }
      const gone: unknown = await una.renew(unaryHeld).catch((error: unknown) => error);
      expect(gone).toBeInstanceOf(CallEnded);
      expect((gone as CallEnded).ending).toMatchObject({ code: 'NOT_FOUND', reason: 'LEASE_NOT_HELD' });
      expect(await una.release(unaryHeld)).toEqual({ released: false, cause: 'UNKNOWN' });

      // Another server may have answered a renewal of Una a moment ago, so grants pause for all names.
      for (const member of [one, other]) {
        const late = scenario.client(`late at ${member.address}`, member);
        const refused: unknown = await late
          .acquire({ name: streamed, ttlMs: TTL_MS })
          .catch((error: unknown) => error);
        expect(refused).toBeInstanceOf(CallEnded);
        const { ending } = refused as CallEnded;
        expect(ending).toMatchObject({ code: 'UNAVAILABLE', reason: 'QUARANTINED' });
        expect(ending.retryAfterMs).toBeGreaterThan(QUARANTINE_MS / 2);
        expect(ending.retryAfterMs).toBeLessThanOrEqual(QUARANTINE_MS);
        expect((await serverInfo(member.address)).quarantine).toBeDefined();
      }
      await sleep(Math.max(0, TTL_MS + 500 - stopwatch.elapsedMs));
      expect([...line.order, ...mixedLine.order]).toEqual([]);
      // Every lease from before the flush has ended, so the operator may end the quarantine.
      const { endedQuarantine, risk } = await endQuarantine(one.address, 'every holder has stopped');
      expect(endedQuarantine).toBeDefined();
      expect(risk).toMatch(/two holders/);
      end();

      await line.served();
      expect(line.order).toEqual(['w1', 'w2', 'w3', 'w4']);
      // The first server that touches gets the first grant. By then all other waiters have their own tickets again.
      await mixedLine.served();
      const [firstServed, ...others] = mixedLine.order;
      expect(['m1', 'm2']).toContain(firstServed);
      expect(others).toEqual(['m1', 'm2', 'm3', 'm4'].filter((label) => label !== firstServed));
      const after = await alice.acquire({ name: streamed, ttlMs: TTL_MS });
      expect(after.token).toBeGreaterThan(stream.held?.token ?? 0n);
      const onQueue = await hank.acquire({ name: queue, ttlMs: TTL_MS });
      expect(onQueue.token).toBeGreaterThan(first.token);
      await Promise.all([alice.release(after), hank.release(onQueue)]);
    }));
});

describe('redis stopped', () => {
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
});

describe('redis may have lost', () => {
  const TTL_MS = 3000;
  const env = { HOLDFAST_MAX_TTL: `${TTL_MS}ms`, HOLDFAST_DEFAULT_TTL: `${TTL_MS}ms` };

  let fleet: Fleet;

  beforeAll(async () => {
    fleet = await Fleet.start({ redis: { appendfsync: 'everysec' }, members: [{ env }, { env }] });
  });

  afterAll(() => fleet?.close());

  test('a Redis that may have lost its last writes keeps leases and places, and grants nothing until the quarantine ends', () =>
    runScenario({ fleet, title: 'may have lost', limitMs: 40_000 }, async (scenario) => {
      const [one, other] = [fleet.member(0), fleet.member(1)];
      const [streamed, queue] = [scenario.lock('streamed'), scenario.lock('queue')];
      const alice = scenario.client('alice', one);
      const stream = alice.hold({ name: streamed, ttlMs: TTL_MS });
      const held = await stream.granted();
      const hank = scenario.client('hank', one);
      const hankHolds = hank.hold({ name: queue, ttlMs: TTL_MS });
      const first = await hankHolds.granted();
      const line = new WaiterLine(scenario, queue, other);
      for (const label of ['w1', 'w2', 'w3']) await line.join(label, label === 'w2' ? one : other);

      const end = scenario.fault('redis_restarted', 'SIGKILL and start, appendfsync everysec');
      await fleet.redis.kill();
      await fleet.redis.restart();
      for (const member of [one, other]) {
        await eventually('the server to say that the store is in quarantine', async () => {
          const { storeState } = await serverInfo(member.address);
          return storeState === StoreState.STORE_STATE_QUARANTINED;
        });
        const late = scenario.client(`late at ${member.address}`, member);
        const refused: unknown = await late
          .acquire({ name: streamed, ttlMs: TTL_MS })
          .catch((error: unknown) => error);
        expect(refused).toBeInstanceOf(CallEnded);
        expect((refused as CallEnded).ending).toMatchObject({ code: 'UNAVAILABLE', reason: 'QUARANTINED' });
      }

      await stream.more('renewed', 2);
      expect(stream.kinds).not.toContain('lost');
      await hank.release(first);
      expect((await hankHolds.ended).code).toBe('OK');
      await stream.more('renewed', 2);
      // The lock is free but is not granted, because a client may believe in a lease that this Redis has lost.
      expect(line.order).toEqual([]);

      const { endedQuarantine } = await endQuarantine(other.address, 'the test knows every holder');
      expect(endedQuarantine).toBeDefined();
      await line.served();
      expect(line.order).toEqual(['w1', 'w2', 'w3']);
      end();
      await alice.release(held);
      expect((await stream.ended).code).toBe('OK');
      for (const { logs } of fleet.members.map(({ server }) => server)) {
        const said = logs.map(({ msg }) => msg);
        expect(said).toContain('the store is in quarantine: nothing is granted');
        await eventually('the end to be logged', () =>
          logs.some(({ msg }) => msg === 'the quarantine is over: leases are granted again'),
        );
      }
    }));
});
