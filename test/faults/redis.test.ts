import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/eventually';
import { monotonicMicros } from '../support/history-recorder';
import { ClientProcess } from './client-process';
import { Fleet } from './fleet';
import { CallEnded } from './held';
import { runScenario, type Scenario } from './scenario';
import { WaiterLine } from './waiter-line';

let fleet: Fleet;
beforeAll(async () => {
  fleet = await Fleet.start({ redis: { appendfsync: 'always' }, members: [{}, {}] });
});
afterAll(() => fleet.close());

describe('unnoticed', () => {
  const WORK_MS = 20;

  /** The number of finished rounds of a loop. */
  interface Progress {
    rounds: number;
  }

  /** Acquires, works and releases until `isOver`. Any failure fails the test. */
  async function loop(
    scenario: Scenario,
    name: string,
    index: number,
    { progress, isOver }: { progress: Progress; isOver: () => boolean },
  ): Promise<void> {
    const client = scenario.client(`loop ${name} ${index}`, scenario.fleet.member(index % 2));
    for (; !isOver(); progress.rounds += 1) {
      const wanted = { name, ttlMs: 3000 };
      const streamed = index < 2 ? client.hold(wanted) : undefined;
      const held = streamed === undefined ? await client.acquire(wanted) : await streamed.granted();
      await sleep(WORK_MS);
      expect(await client.release(held)).toEqual({ released: true, cause: null });
      if (streamed !== undefined) expect((await streamed.ended).code).toBe('OK');
    }
  }

  /** Waits until every loop has finished another round, so that each fault affects all loops. */
  async function oneMoreRound(all: readonly Progress[]): Promise<void> {
    const before = all.map(({ rounds }) => rounds);
    const hasAdvanced = () => all.every(({ rounds }, index) => rounds > (before[index] ?? 0));
    await eventually('another round of every loop', hasAdvanced, { timeoutMs: 15_000 });
  }

  test('no client notices flushed scripts and killed connections under load', () =>
    runScenario({ fleet, title: 'unnoticed' }, async (scenario) => {
      const names = [scenario.lock('busy one'), scenario.lock('busy two')];
      const steady = scenario.lock('steady');
      let isOver = false;
      const progress: Progress[] = [];
      const start = (name: string, index: number): Promise<void> => {
        const own = { rounds: 0 };
        progress.push(own);
        return loop(scenario, name, index, { progress: own, isOver: () => isOver });
      };
      const loops = Promise.all(names.flatMap((name) => [0, 1, 2, 3].map((index) => start(name, index))));
      loops.catch(() => undefined); // The promise is awaited below.
      const alice = scenario.client('alice', fleet.member(0));
      const stream = alice.hold({ name: steady, ttlMs: 1500 });
      const held = await stream.granted();
      scenario.observer.watchLease(held);

      const faults: [() => Promise<unknown>, () => void][] = [
        [
          () => Promise.all(['SCRIPT', 'FUNCTION'].map((what) => fleet.redis.command(what, 'FLUSH'))),
          () => scenario.instant('scripts_flushed', 'SCRIPT FLUSH and FUNCTION FLUSH'),
        ],
        ...['normal', 'pubsub'].map((type): [() => Promise<unknown>, () => void] => [
          () => fleet.redis.command('CLIENT', 'KILL', 'TYPE', type),
          () => scenario.instant('connections_killed', `CLIENT KILL TYPE ${type}`),
        ]),
      ];
      for (const [cause, mark] of [...faults, ...faults]) {
        await Promise.race([oneMoreRound(progress), loops]);
        mark();
        await cause();
      }
      await Promise.race([oneMoreRound(progress), loops]);
      await stream.atLeast('renewed', 1);
      isOver = true;
      await loops;
      for (const { rounds } of progress) expect(rounds).toBeGreaterThan(3);
      expect(new Set(stream.kinds)).toEqual(new Set(['granted', 'renewed']));
      await alice.release(held);
      expect((await stream.ended).code).toBe('OK');
    }));
});

describe('redis restarted', () => {
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
      expect((refused as CallEnded).ending).toMatchObject({
        code: 'UNAVAILABLE',
        reason: 'STORE_UNAVAILABLE',
      });
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
});

describe('redis full', () => {
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
});

describe('semaphore full', () => {
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
});

describe('semaphore killed', () => {
  /** The latest deadline that a holder received. */
  function lastDeadline(holder: ClientProcess): number {
    return Math.max(...holder.events().map((event) => ('deadline' in event ? event.deadline : 0)));
  }

  test.concurrent(
    'the permits of a killed holder are free after its own ttl, and the other leases continue',
    () =>
      runScenario({ fleet, title: 'killed holder of permits' }, async (scenario) => {
        const name = await scenario.semaphore('permits', 6);
        const { address } = fleet.member(0);
        const task = { address, service: 'semaphore', call: 'hold', name } as const;
        const victims = await Promise.all([
          ClientProcess.start(scenario, { ...task, client: 'short', ttlMs: 1500, permits: 3 }),
          ClientProcess.start(scenario, { ...task, client: 'long', ttlMs: 3500, permits: 2 }),
        ]);
        await Promise.all(victims.map((victim) => victim.said('granted')));
        const steady = scenario.client('steady', fleet.member(0), 'semaphore');
        const kept = steady.hold({ name, ttlMs: 1500 });
        const keptLease = await kept.granted();
        scenario.observer.watchLease(keptLease);

        const heavy = scenario.client('heavy', fleet.member(0), 'semaphore');
        const first = heavy.hold({ name, ttlMs: 3000, permits: 3 });
        expect(await first.queued()).toBe(1);
        const light = scenario.client('light', fleet.member(0), 'semaphore');
        const second = light.hold({ name, ttlMs: 3000, permits: 2 });
        expect(await second.queued()).toBe(2);
        for (const victim of victims) victim.kill();
        const [short, long] = victims.map(lastDeadline);

        const firstLease = await first.granted();
        expect(monotonicMicros()).toBeGreaterThan(short ?? NaN);
        expect(second.held).toBeUndefined();
        const secondLease = await second.granted();
        expect(monotonicMicros()).toBeGreaterThan(long ?? NaN);
        const seen = await scenario.observer.read(name);
        expect(seen.holders.map((holder) => holder.permitCount).sort()).toEqual([1, 2, 3]);
        expect(kept.wasLost).toBe(false);
        await steady.release(keptLease);
        await heavy.release(firstLease);
        await light.release(secondLease);
      }),
  );

  test.concurrent(
    'holders move to another server when their server is killed, and waiters for several permits keep their places',
    () =>
      runScenario({ fleet, title: 'killed with permits out' }, async (scenario) => {
        const name = await scenario.semaphore('permits', 4);
        const [survivor, victim] = [fleet.member(0), fleet.member(1)];
        const alice = scenario.client('alice', victim, 'semaphore');
        const stream = alice.hold({ name, ttlMs: 3000, permits: 2 });
        const held = await stream.granted();
        const una = scenario.client('una', survivor, 'semaphore');
        const unaryHeld = await una.acquire({ name, ttlMs: 8000, permits: 2 });
        for (const lease of [held, unaryHeld]) scenario.observer.watchLease(lease);

        const line = new WaiterLine(scenario, name, survivor);
        await line.join('w1 of 3', victim, 'stream', { permits: 3 });
        await line.join('w2 of 1', survivor, 'stream', { permits: 1 });
        await line.join('w3 of 4', victim, 'unary', { permits: 4 });
        const dead = scenario.client('dead', victim, 'semaphore');
        await line.joinedBy(() => dead.hold({ name, ttlMs: 2000, permits: 2 }));
        await line.join('w5 of 3', survivor, 'unary', { permits: 3 });

        scenario.instant('server_killed', 'one of two servers');
        await victim.server.kill();
        expect((await stream.ended).code).toBe('UNAVAILABLE');
        alice.moveTo(survivor.address);
        const attached = alice.attach(held);
        expect((await attached.granted()).token).toBe(held.token);
        // Two of four permits are free, and the head of the queue wants three. No waiter may overtake the head.
        await una.release(unaryHeld);
        await attached.more('renewed', 1);
        expect(line.order).toEqual([]);
        await alice.release(held);
        await line.served();
        expect(line.order).toHaveLength(4);
        expect(line.order.slice(2)).toEqual(['w3 of 4', 'w5 of 3']);
      }),
  );
});
