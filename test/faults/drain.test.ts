import { randomUUID } from 'node:crypto';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '../../generated/typescript/grpc/health/v1/health';
import { watchHealth } from '../support/clients/calls';
import { eventually } from '../support/eventually';
import { Fleet } from './fleet';
import { CallEnded } from './held';
import { runScenario } from './scenario';

/** Much longer than a drain without open calls. */
const DRAIN_TIMEOUT_MS = 12_000;
const ENV = { HOLDFAST_DRAIN_TIMEOUT: `${DRAIN_TIMEOUT_MS}ms` };

/** Server 0 stays up. Each scenario ends another server. */
let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({
    members: [
      {},
      { env: ENV },
      { env: ENV, redisProxy: true },
      { env: { HOLDFAST_DRAIN_TIMEOUT: '1s' }, clientProxy: true },
    ],
  });
});

afterAll(() => fleet?.close());

test.concurrent(
  'SIGTERM renews leases once more, ends all calls with DRAINING, keeps places, and exits with 0',
  () =>
    runScenario({ fleet, title: 'drained' }, async (scenario) => {
      const [survivor, leaving] = [fleet.member(0), fleet.member(1)];
      const [streamed, queue] = [scenario.lock('streamed'), scenario.lock('queue')];
      const alice = scenario.client('alice', leaving);
      const stream = alice.hold({ name: streamed, ttlMs: 4000 });
      const held = await stream.granted();
      const hank = scenario.client('hank', survivor);
      const first = await hank.hold({ name: queue, ttlMs: 3000 }).granted();
      for (const lease of [held, first]) scenario.observer.watchLease(lease);
      const waiters = ['w1', 'w2'].map((label) => scenario.client(label, leaving));
      const requests = waiters.map(() => ({ name: queue, ttlMs: 3000, requestId: randomUUID() }));
      const [w1, w2] = waiters as [(typeof waiters)[0], (typeof waiters)[0]];
      const [r1, r2] = requests as [(typeof requests)[0], (typeof requests)[0]];
      const waiting = w1.hold(r1);
      await waiting.queued();
      const unary = w2.acquire(r2).catch((error: unknown) => error);
      await scenario.observer.waiterCount(queue, 2);
      const last = scenario.client('w3', survivor);
      const behind = last.hold({ name: queue, ttlMs: 3000 });
      await behind.queued();
      const health = watchHealth(leaving.address);
      await eventually('SERVING', () => health.statuses.includes(ServingStatus.SERVING));

      const end = scenario.fault('draining', 'SIGTERM');
      const before = stream.kinds.length;
      const stopwatch = scenario.stopwatch();
      const exit = leaving.server.term();
      const DRAINING = { code: 'UNAVAILABLE', reason: 'DRAINING' };
      const ending = await stream.ended;
      expect(ending).toMatchObject(DRAINING);
      expect(ending.retryAfterMs).toBeGreaterThanOrEqual(0);
      expect(ending.pushback).toMatch(/^\d+$/);
      expect(new Set(stream.kinds.slice(before))).toEqual(new Set(['renewed']));
      expect(await waiting.ended).toMatchObject({ ...DRAINING, pushback: expect.stringMatching(/^\d+$/) });
      const refused = await unary;
      expect(refused).toBeInstanceOf(CallEnded);
      expect((refused as CallEnded).ending).toMatchObject(DRAINING);
      expect((refused as CallEnded).ending.retryAfterMs).toBeGreaterThan(0);
      expect(await exit).toEqual({ code: 0, signal: null });
      expect(stopwatch.chargedMs).toBeLessThan(DRAIN_TIMEOUT_MS / 2);
      await health.ended;
      expect(health.statuses).toEqual([ServingStatus.SERVING, ServingStatus.NOT_SERVING]);
      health.close();
      const warned = leaving.server.logs.filter(({ level }) => level !== 'info' && level !== 'debug');
      expect(warned).toEqual([]);
      end();

      for (const client of [alice, w1, w2]) client.moveTo(survivor.address);
      const again = alice.attach(held);
      expect((await again.granted()).token).toBe(held.token);
      const back = w1.hold(r1);
      expect(await back.queued()).toBe(1);
      const backUnary = w2.acquire(r2);
      await scenario.observer.waiterCount(queue, 3);
      await hank.release(first);
      await w1.release(await back.granted());
      await w2.release(await backUnary);
      await last.release(await behind.granted());
      await again.more('renewed');
      await alice.release(held);
      const tokens = [first, back.held, await backUnary, behind.held].map((lease) => lease?.token ?? 0n);
      expect(tokens).toEqual([...tokens].sort((a, b) => (a < b ? -1 : 1)));
    }),
);

test.concurrent('a second SIGTERM ends a hanging drain immediately, and does not end the lease', () =>
  runScenario({ fleet, title: 'forced' }, async (scenario) => {
    const [survivor, leaving] = [fleet.member(0), fleet.member(2)];
    const name = scenario.lock('lock');
    const alice = scenario.client('alice', leaving);
    const stream = alice.hold({ name, ttlMs: 4000 });
    const held = await stream.granted();
    scenario.observer.watchLease(held);
    leaving.redisProxy.blackHole('both');
    const end = scenario.fault('draining', 'SIGTERM while Redis does not answer');
    leaving.server.signal('SIGTERM');
    await leaving.server.logLine('draining', ({ msg }) => msg === 'draining');
    expect(leaving.server.exit).toBeUndefined();
    leaving.isForced = true;
    const stopwatch = scenario.stopwatch();
    expect(await leaving.server.term()).toEqual({ code: 143, signal: null });
    expect(stopwatch.chargedMs).toBeLessThan(1500);
    expect((await stream.ended).code).toBe('UNAVAILABLE');
    end();
    alice.moveTo(survivor.address);
    const again = alice.attach(held);
    expect((await again.granted()).token).toBe(held.token);
    await alice.release(held);
    expect((await again.ended).code).toBe('OK');
  }),
);

test.concurrent(
  'a draining server cuts the connection of a client that does not answer within the drain timeout',
  () =>
    runScenario({ fleet, title: 'cut' }, async (scenario) => {
      const [survivor, leaving] = [fleet.member(0), fleet.member(3)];
      const name = scenario.lock('lock');
      const alice = scenario.client('alice', leaving);
      const stream = alice.hold({ name, ttlMs: 4000 });
      const held = await stream.granted();
      const end = scenario.fault('link_cut', 'black hole between client and server');
      leaving.clientProxy.blackHole('both');
      const stopwatch = scenario.stopwatch();
      expect(await leaving.server.term()).toEqual({ code: 0, signal: null });
      expect(stopwatch.elapsedMs).toBeGreaterThan(950);
      expect(stopwatch.chargedMs).toBeLessThan(3000);
      leaving.clientProxy.passEverything();
      end();
      expect((await stream.ended).code).toBe('UNAVAILABLE');
      alice.moveTo(survivor.address);
      expect((await alice.renew(held)).token).toBe(held.token);
      await alice.release(held);
    }),
);
