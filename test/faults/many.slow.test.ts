import { setTimeout as sleep } from 'node:timers/promises';
import type { Lease } from '../../clients/typescript';
import type { SessionClient } from '../../clients/typescript/sessions/session-client';
import type { SessionNews } from '../../clients/typescript/sessions/session-news';
import { LockClient } from '../support/clients/lease-client';
import { causeOf, lock, openSession } from '../support/clients/sdk-session';
import { closeAll, eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import { Fleet } from './fleet';
import { runScenario, type Scenario } from './scenario';
import { runsOf } from './script-commands';

describe('many waiters', () => {
  const FEW = 10;
  const MANY = 500;
  const TTL_MS = 3000;
  const isTouch = runsOf('touch');
  /** The bound of commands per touch. A touch reads at most 64 waiters, with a few commands for each. */
  const COMMANDS_PER_TOUCH = 200;

  let fleet: Fleet;
  /** Touches are counted separately, because their number depends on time and not on hand-overs. */
  let touchCount = 0;

  beforeAll(async () => {
    fleet = await Fleet.start({ members: [{ redisProxy: true }, { redisProxy: true }] });
    for (const { redisProxy } of fleet.members) {
      redisProxy.on('command', (command) => {
        if (isTouch(command)) touchCount += 1;
      });
    }
  });

  afterAll(() => fleet?.close());

  interface Cost {
    readonly handOvers: number;
    readonly touches: number;
    /** The number of runs of each Redis command, including the commands inside scripts. */
    readonly calls: ReadonlyMap<string, number>;
  }

  async function commandCalls(): Promise<Map<string, number>> {
    const stats = String(await fleet.redis.command('INFO', 'commandstats'));
    const calls = [...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)];
    return new Map(calls.map(([, command = '', count]) => [command, Number(count)]));
  }

  /**
   * Hands a lock from waiter to waiter, and counts the commands from the first release to the last. The waiters take turns
   * between the servers.
   */
  async function handThrough(scenario: Scenario, handOvers: number, serverCount: number): Promise<Cost> {
    const name = scenario.lock(`through ${handOvers}`, false);
    const holder = scenario.client(`holder of ${handOvers}`, fleet.member(0));
    const first = await holder.hold({ name, ttlMs: TTL_MS }).granted();
    const clients = [0, 1, 2, 3].map((index) =>
      scenario.client(`client ${index} of ${handOvers}`, fleet.member(index % serverCount)),
    );
    const order: number[] = [];
    const lineUp = async (index: number): Promise<{ turn: Promise<void> }> => {
      const client = clients[index % clients.length] ?? holder;
      const stream = client.hold({ name, ttlMs: TTL_MS });
      const position = await stream.queued();
      const turn = stream.granted(60_000).then(async (held) => {
        order.push(position);
        await client.release(held);
      });
      turn.catch(() => undefined); // The promise is awaited below.
      return { turn };
    };
    const turns: { turn: Promise<void> }[] = [];
    for (let index = 0; index < handOvers; index += 1) turns.push(await lineUp(index));
    const [before, touchesBefore] = [await commandCalls(), touchCount];
    await holder.release(first);
    await Promise.all(turns.map(({ turn }) => turn));
    const [after, touches] = [await commandCalls(), touchCount - touchesBefore];
    expect(order).toEqual(Array.from({ length: handOvers }, (_, index) => index + 1));
    const calls = new Map(
      [...after].map(([command, count]) => [command, count - (before.get(command) ?? 0)]),
    );
    return { handOvers, touches, calls };
  }

  function scriptsEach({ handOvers, touches, calls }: Cost): number {
    return ((calls.get('evalsha') ?? 0) + (calls.get('fcall') ?? 0) - touches) / handOvers;
  }

  // A hand-over takes a release, and a renewal that tells the released stream of its end. A waiter on another server than the
  // release also takes a claim.
  test.each([
    ['one server', 1, 2],
    ['two servers', 2, 3],
  ])(
    '500 waiters of one lock at %s are granted in order, at the same cost per hand-over as 10 waiters (chapter 17)',
    (_, serverCount, scripts) =>
      runScenario({ fleet, title: `many waiters of ${serverCount}`, limitMs: 50_000 }, async (scenario) => {
        const few = await handThrough(scenario, FEW, serverCount);
        const many = await handThrough(scenario, MANY, serverCount);
        expect(scriptsEach(few)).toBeCloseTo(scripts, 0);
        expect(Math.abs(scriptsEach(many) - scriptsEach(few))).toBeLessThan(0.3);
        for (const [command, count] of many.calls) {
          const each = (few.calls.get(command) ?? 0) / few.handOvers;
          const most = (each + 0.3) * many.handOvers + many.touches * COMMANDS_PER_TOUCH;
          expect([command, Math.min(count, most)]).toEqual([command, count]);
        }
      }),
    60_000,
  );
});

describe('session client', () => {
  const TTL_MS = 4000;
  /** Between two acquires of this size no answer of a busy machine misses its ttl. */
  const MANY_TTL_MS = 60_000;
  const MANY = 10_000;

  let redis: RedisProcess;
  let servers: ServerProcess[];
  let client: SessionClient;
  let news: SessionNews[];

  beforeEach(async () => {
    redis = await RedisProcess.start();
    const start = () => ServerProcess.start({ redisUrl: redis.url });
    servers = await Promise.all([start(), start()]);
    news = [];
  });
  afterEach(async () => {
    await closeAll(
      () => client?.close(),
      ...servers.map((server) => () => server.close()),
      () => redis.close(),
    );
  });

  function open(addresses: readonly string[]): SessionClient {
    client = openSession({ addresses, holderId: 'worker', onNews: (item) => news.push(item) });
    return client;
  }

  const first = () => servers[0] as ServerProcess;
  const attached = () => news.filter(({ kind }) => kind === 'attached').length;

  /** The lease is held by the store, under its token, after more than a ttl. */
  async function expectHeld(lease: Lease, server: ServerProcess): Promise<void> {
    const before = lease.deadline;
    await eventually('a later deadline', () => lease.isOver || lease.deadline > before + TTL_MS);
    expect(causeOf(lease)).toBeUndefined();
    const observer = new LockClient(server.listen);
    expect((await observer.get(lease.name)).holders[0]?.fencingToken).toBe(lease.fencingToken);
    observer.close();
  }

  test('a session client keeps its lease and its place in the queue when its server is killed', async () => {
    const addresses = servers.map(({ listen }) => listen);
    const one = open(addresses);
    const lease = await lock(one, 'killed', { ttlMs: TTL_MS });
    const waiting = lock(one, 'killed', { ttlMs: TTL_MS });
    await sleep(100);
    await first().kill();
    await eventually('the attach', () => attached() === 1);
    await expectHeld(lease, servers[1] as ServerProcess);
    await lease.release();
    expect((await waiting).fencingToken).toBeGreaterThan(lease.token);
  });

  test('a session client keeps its lease when its only server is killed and started again', async () => {
    const listen = first().listen;
    const lease = await lock(open([listen]), 'restarted', { ttlMs: 20_000 });
    await first().kill();
    servers[0] = await ServerProcess.start({ redisUrl: redis.url, listen });
    await eventually('the attach', () => attached() === 1);
    expect(lease.isOver).toBe(false);
  });

  test('a session client leaves a server that has fallen silent, and keeps its lease', async () => {
    const lease = await lock(open(servers.map(({ listen }) => listen)), 'silent', { ttlMs: TTL_MS });
    first().stop();
    await eventually('the attach', () => attached() === 1);
    // The silent server runs again, and must not end the lease.
    first().cont();
    await expectHeld(lease, servers[1] as ServerProcess);
  });

  test('a session client believes in no lease after its deadline when no server is left', async () => {
    const lease = await lock(open(servers.map(({ listen }) => listen)), 'alone', { ttlMs: TTL_MS });
    await Promise.all(servers.map((server) => server.kill()));
    expect(lease.isOver).toBe(false);
    await eventually('the end of the lease', () => lease.signal.aborted);
    expect(causeOf(lease)).toBe('DEADLINE');
    expect(performance.now()).toBeGreaterThanOrEqual(lease.deadline);
  });

  test('ten thousand leases of a session are attached again after their server was killed', async () => {
    const one = open(servers.map(({ listen }) => listen));
    const leases: Lease[] = [];
    for (let n = 0; n < MANY; n += 1000) {
      const some = Array.from({ length: 1000 }, (_, k) => lock(one, `many ${n + k}`, { ttlMs: MANY_TTL_MS }));
      leases.push(...(await Promise.all(some)));
    }
    await first().kill();
    const killedAt = performance.now();
    await eventually('every attach', () => attached() === MANY, { timeoutMs: MANY_TTL_MS });
    console.info(`${MANY} leases attached again after ${Math.round(performance.now() - killedAt)} ms`);
    expect(leases.filter(({ isOver }) => isOver)).toEqual([]);
    await one.close(60_000);
    const observer = new LockClient((servers[1] as ServerProcess).listen);
    for (const n of [0, 5000, MANY - 1]) expect((await observer.get(`many ${n}`)).holderCount).toBe(0);
    observer.close();
  });
});
