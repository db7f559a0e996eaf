import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../src/base/clock';
import { systemIdentities } from '../../../src/base/runtime';
import { defaultLimits } from '../../../src/leases/lease';
import { Leases } from '../../../src/leases/leases';
import { InProcessServer } from '../../end-to-end/in-process-server';
import { ServerPair } from '../../end-to-end/server-pair';
import type { LockClient } from '../../support/clients/lease-client';
import { cancel, lock, release, SessionStream } from '../../support/clients/session-stream';
import { collectGarbage } from '../../support/collect-garbage';
import { closeAll, eventually } from '../../support/eventually';
import { FakeCall, RecordedViews } from '../../support/fake-call';
import { runtimeOn } from '../../support/manual-clock';
import { RedisProcess } from '../../support/processes/redis-process';
import { scriptCalls } from '../../support/redis-operations';
import { connectTestStore } from '../../support/test-store';

describe('watches', () => {
  /** The number of scripts that Redis has run. */
  async function scriptCount(redis: RedisProcess): Promise<number> {
    return scriptCalls(String(await redis.command('INFO', 'commandstats')));
  }

  async function scriptsPerSecond(redis: RedisProcess, seconds: number): Promise<number> {
    const [before, start] = [await scriptCount(redis), performance.now()];
    await sleep(seconds * 1000);
    return ((await scriptCount(redis)) - before) / ((performance.now() - start) / 1000);
  }

  /** Opens a watch and waits for its first state. Tries again while the server answers OVERLOADED, as a client does. */
  async function openWatch(client: LockClient, name: string) {
    for (;;) {
      const watch = client.watch(name);
      const first = await Promise.race([watch.next().catch(() => undefined), watch.ending]);
      if (first !== undefined && 'holderCount' in first) return watch;
      const { reason, retryAfterMs } = await watch.ending;
      if (reason !== 'OVERLOADED') throw new Error(`the watch ended with ${reason}`);
      await sleep(retryAfterMs ?? 0);
    }
  }

  const note = (text: string) => process.stderr.write(`${text}\n`);
  const sorted = (values: readonly number[]) => [...values].sort((a, b) => a - b);
  const quantile = (values: readonly number[], q: number) =>
    sorted(values)[Math.min(values.length - 1, Math.floor(values.length * q))] ?? NaN;

  test('1,000 watches of one name cost one read per second, and get each change while others are undisturbed', async () => {
    const redis = await RedisProcess.start();
    const server = await InProcessServer.start(redis.url);
    try {
      const clients = Array.from({ length: 10 }, () => server.client());
      const opened = clients.map(async (client) => {
        const watches = [];
        for (let n = 0; n < 100; n += 1) watches.push(await openWatch(client, 'one'));
        return watches;
      });
      const watches = (await Promise.all(opened)).flat();
      expect(server.stats).toMatchObject({ watchStreamCount: 1000, watchReaderCount: 1 });
      const perSecond = await scriptsPerSecond(redis, 10);
      // The reader reads once per second. The store's own scripts are a few per second.
      expect(perSecond).toBeLessThan(5);

      const other = server.client();
      const latencies: number[] = [];
      const others: number[] = [];
      for (let round = 0; round < 20; round += 1) {
        const states = watches.map((watch) => watch.states.length);
        const { leaseId } = await other.acquire({ name: 'one', ttlMs: 60_000 });
        const startedAt = performance.now();
        const isTold = () => watches.every((watch, at) => watch.states.length > (states[at] ?? 0));
        while (!isTold()) {
          const before = performance.now();
          const innocent = await other.acquire({ name: `innocent ${others.length}`, ttlMs: 60_000 });
          others.push(performance.now() - before);
          await other.release(innocent.leaseId);
          if (performance.now() - startedAt > 60_000) break;
        }
        expect(isTold()).toBe(true);
        for (const { times } of watches) latencies.push((times.at(-1) ?? NaN) - startedAt);
        await other.release(leaseId);
        await eventually('the release', () =>
          watches.every(({ states: all }) => all.at(-1)?.holderCount === 0),
        );
      }
      note(
        `1,000 watches of one name: ${perSecond.toFixed(1)} scripts/s at rest; a change reaches a watch after ${quantile(latencies, 0.5).toFixed(0)} ms (p50), ${quantile(latencies, 0.99).toFixed(0)} ms (p99); an acquire beside takes ${quantile(others, 0.5).toFixed(1)} ms (p50), ${quantile(others, 0.99).toFixed(0)} ms (p99)`,
      );
      // Server, watchers and Redis share the cores of this machine.
      expect(quantile(latencies, 0.5)).toBeLessThan(1000);
      for (const watch of watches) expect(watch.states.length).toBeLessThanOrEqual(41);
      for (const client of clients) client.close();
      await server.idle();
    } finally {
      await closeAll(
        () => server.close(),
        () => redis.close(),
      );
    }
  }, 180_000);

  test('100 watches of each of 1,000 names cost 1,000 reads per second and little memory, and leave nothing behind', async () => {
    const redis = await RedisProcess.start({ appendfsync: 'no' });
    const store = await connectTestStore(redis.url, { serverId: 's1', commandTimeoutMs: 20_000 });
    const defects: unknown[] = [];
    const permits = new Leases({
      runtime: runtimeOn(systemClock, {
        identities: systemIdentities,
        defect: (error) => void defects.push(error),
      }),
      store: store.permits,
      limits: { ...defaultLimits, maxStreams: 100_000 },
      serverId: 's1',
    });
    const watches: { call: FakeCall; sink: RecordedViews; done: Promise<void> }[] = [];
    const endWatches = () => {
      for (const { call } of watches) call.cancel();
      return Promise.all(watches.map(({ done }) => done));
    };
    try {
      await collectGarbage();
      const heapBefore = process.memoryUsage().heapUsed;
      for (let name = 0; name < 1000; name += 1) {
        for (let n = 0; n < 100; n += 1) {
          const call = new FakeCall(systemClock);
          const sink = new RecordedViews();
          watches.push({ call, sink, done: permits.watch(call, 'lock', `name ${name}`, sink) });
        }
        if (name % 20 === 0) await sleep(1);
      }
      await eventually('all first states', () => watches.every(({ sink }) => sink.views.length > 0), {
        timeoutMs: 120_000,
      });
      expect(permits.stats()).toMatchObject({ watchStreamCount: 100_000, watchReaderCount: 1000 });
      await collectGarbage();
      const bytes = (process.memoryUsage().heapUsed - heapBefore) / watches.length;
      const perSecond = await scriptsPerSecond(redis, 10);
      note(
        `100 watches of each of 1,000 names: ${perSecond.toFixed(0)} scripts/s at rest; ${(bytes / 1000).toFixed(1)} kB of the engine for each watch`,
      );
      expect(perSecond).toBeLessThan(1100);
      // The calls and sinks of the test count too.
      expect(bytes).toBeLessThan(5000);
      await endWatches();
      await eventually('no timers', () => permits.stats().timerCount === 0);
      expect(permits.stats()).toMatchObject({ watchStreamCount: 0, watchReaderCount: 0 });
      expect(defects).toEqual([]);
    } finally {
      // A watch keeps a timer, and Jest does not exit while a timer runs.
      await endWatches();
      permits.close();
      store.close();
      await redis.close();
    }
  }, 300_000);
});

describe('many cancels', () => {
  const WAITS = 10_000;
  const IN_MESSAGE = 1000;
  const PATIENCE = { timeoutMs: 120_000 };

  let pair: ServerPair;
  let one: SessionStream;

  beforeAll(async () => {
    // Half a second for a command is short for ten thousand withdrawals on a busy machine.
    pair = await ServerPair.start({ HOLDFAST_COMMAND_TIMEOUT: '500ms' });
    one = new SessionStream(pair.first.address);
  });
  afterAll(async () => {
    one?.close();
    await pair?.close();
  });

  test('ten thousand waits that are cancelled at once all end with cancelled, and the lease of the same session continues', async () => {
    const holder = new SessionStream(pair.second.address);
    const blocking = holder.run(lock('crowded', { ttlMs: 120_000 }));
    await holder.event(blocking, 'granted');
    const held = one.run(lock('beside', { ttlMs: 20_000 }));
    await one.event(held, 'granted');
    const ids: number[] = [];
    for (let sentCount = 0; sentCount < WAITS; sentCount += IN_MESSAGE) {
      const waits = Array.from({ length: IN_MESSAGE }, () => lock('crowded', { ttlMs: 20_000 }));
      const first = one.run(...waits);
      ids.push(...waits.map((_, index) => first + index));
    }
    const observer = pair.second.client();
    await eventually(
      'a long queue',
      async () => (await observer.get('crowded')).waiterCount > WAITS / 2,
      PATIENCE,
    );
    for (let at = 0; at < WAITS; at += IN_MESSAGE) one.run(...ids.slice(at, at + IN_MESSAGE).map(cancel));
    const ends = () =>
      one.events.filter(({ event }) => event.$case === 'cancelled' || event.$case === 'failed');
    await eventually('the end of every wait', () => ends().length === WAITS, PATIENCE);
    const unknown = ends().filter(
      ({ event }) => event.$case === 'failed' && event.value.reasonText === 'OUTCOME_UNKNOWN',
    );
    expect(unknown).toEqual([]);
    expect((await observer.get('crowded')).waiterCount).toBe(0);
    const releasing = one.run(release(held));
    expect(await one.event(releasing, 'released')).toMatchObject({ released: true });
    holder.close();
  }, 240_000);
});
