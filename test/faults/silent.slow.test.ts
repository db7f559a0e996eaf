import { setTimeout as sleep } from 'node:timers/promises';
import { residentBytes } from '../../bench/support/cpu';
import type { SessionNews } from '../../clients/typescript/sessions/session-news';
import { AutocompleteServiceService } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { AcquireLockRequest, LockServiceService } from '../../generated/typescript/holdfast/v1/lock_service';
import { acquireRequest } from '../contract/harness';
import { frame, RawConnection } from '../contract/raw-call';
import { LockClient } from '../support/clients/lease-client';
import { lock, openSession } from '../support/clients/sdk-session';
import { closeAll, eventually } from '../support/eventually';
import { monotonicMicros } from '../support/history-recorder';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import { PingProxy } from '../support/proxy/ping-proxy';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { ClientProcess } from './client-process';
import { Fleet } from './fleet';
import { runScenario } from './scenario';

describe('client silent', () => {
  const TTL_MS = 2000;
  const KEEPALIVE_MS = 500;
  /** The bound of the next grant: 250 ms by the contract, and the delays of messages. */
  const RECOVERY_MS = 250 + 500;
  const CHECKS = { keepAliveUs: 2 * KEEPALIVE_MS * 1000 };

  let fleet: Fleet;

  beforeAll(async () => {
    const env = {
      HOLDFAST_KEEPALIVE_TIME: `${KEEPALIVE_MS}ms`,
      HOLDFAST_KEEPALIVE_TIMEOUT: `${KEEPALIVE_MS}ms`,
    };
    fleet = await Fleet.start({ members: [{ env }, { env }, { env, clientProxy: true }] });
  });

  afterAll(() => fleet?.close());

  test.concurrent(
    'the next waiter gets the lock after keep-alive and ttl when a streaming holder is paused, and the stream of the holder ends',
    () =>
      runScenario({ fleet, title: 'paused stream holder', ...CHECKS }, async (scenario) => {
        const name = scenario.lock('lock');
        const { address } = fleet.member(0);
        const task = { client: 'paused one', address, call: 'hold', name, ttlMs: TTL_MS } as const;
        const victim = await ClientProcess.start(scenario, task);
        await victim.said('renewed');
        const next = scenario.client('next', fleet.member(1)).hold({ name, ttlMs: TTL_MS });
        await next.queued();
        const resume = victim.stop();
        const stopwatch = scenario.stopwatch();
        const held = await next.granted();
        expect(stopwatch.chargedMs).toBeLessThan(2 * KEEPALIVE_MS + TTL_MS + RECOVERY_MS);
        await next.more('renewed');
        resume();
        const { code } = await victim.said('ended');
        expect(code).not.toBe('OK');
        await scenario.client('releaser', fleet.member(0)).release(held);
      }),
  );

  test.concurrent(
    'the next waiter gets the lock after keep-alive and ttl when the connection of a streaming holder is cut',
    () =>
      runScenario({ fleet, title: 'silent stream holder', ...CHECKS }, async (scenario) => {
        const name = scenario.lock('lock');
        const { clientProxy } = fleet.member(2);
        const silent = scenario.client('silent', fleet.member(2));
        const stream = silent.hold({ name, ttlMs: TTL_MS });
        await stream.granted();
        await stream.more('renewed');
        const next = scenario.client('next', fleet.member(0)).hold({ name, ttlMs: TTL_MS });
        await next.queued();
        const end = scenario.fault('link_cut', 'black hole between client and server', {
          clients: [silent.name],
        });
        clientProxy.blackHole('both');
        const stopwatch = scenario.stopwatch();
        const held = await next.granted();
        expect(monotonicMicros()).toBeGreaterThan(stream.deadline);
        expect(stopwatch.chargedMs).toBeLessThan(2 * KEEPALIVE_MS + TTL_MS + RECOVERY_MS);
        clientProxy.passEverything();
        end();
        await stream.ended;
        await scenario.client('releaser', fleet.member(0)).release(held);
      }),
  );
});

describe('server stopped', () => {
  /** Server 0 runs all the time. The test pauses server 1. */
  let fleet: Fleet;

  beforeAll(async () => {
    fleet = await Fleet.start({ members: [{}, {}] });
  });

  afterAll(() => fleet?.close());

  test('a server paused for three ttls ends its streams with LEASE_LOST and delivers no late grant (chapter 13)', () =>
    runScenario({ fleet, title: 'paused for three ttls' }, async (scenario) => {
      const [other, paused] = [fleet.member(0), fleet.member(1)];
      const [left, blocked] = [scenario.lock('left'), scenario.lock('head paused')];
      const alice = scenario.client('alice', paused);
      const streams = [left, blocked].map((name) => alice.hold({ name, ttlMs: 2000 }));
      for (const stream of streams) scenario.observer.watchLease(await stream.granted());

      const bob = scenario.client('bob', other);
      const bobHolds = bob.hold({ name: left, ttlMs: 2000 });
      await bobHolds.queued();
      const carol = scenario.client('carol', paused);
      const carolHolds = carol.hold({ name: left, ttlMs: 2000 });
      await carolHolds.queued();
      // The head of this queue waits at the paused server.
      const carolFirst = carol.hold({ name: blocked, ttlMs: 2000 });
      await carolFirst.queued();
      const bobSecond = bob.hold({ name: blocked, ttlMs: 2000 });
      await bobSecond.queued();

      const end = scenario.fault('server_stopped', 'three ttls');
      paused.server.stop();
      const bobHeld = await bobHolds.granted();
      // The offer to the head lapses, and then the next waiter is granted.
      const secondHeld = await bobSecond.granted();
      await sleep(500);
      const before = streams.map((stream) => stream.kinds.length);
      paused.server.cont();
      end();

      for (const [index, stream] of streams.entries()) {
        expect(await stream.ended).toMatchObject({ code: 'ABORTED', reason: 'LEASE_LOST' });
        expect(stream.kinds.slice(before[index])).toEqual(['lost']);
      }
      await Promise.all([bobHolds.more('renewed', 2), bobSecond.more('renewed', 2)]);
      expect([carolHolds.held, carolFirst.held]).toEqual([undefined, undefined]);
      await Promise.all([bob.release(bobHeld), bob.release(secondHeld)]);
      for (const stream of [carolHolds, carolFirst]) await carol.release(await stream.granted());
    }));
});

/** Longer than the interval of heartbeats without leases, 5 s, as the 60 s of real proxies are. */
const IDLE_MS = 8000;
const TTL_MS = 2000;
/** The server pings often, to show that pings do not help behind the proxy. */
const ENV = {
  HOLDFAST_KEEPALIVE_TIME: '500ms',
  HOLDFAST_KEEPALIVE_TIMEOUT: '500ms',
};

let redis: RedisProcess;
let server: ServerProcess;
let proxy: PingProxy;
/** Asks the server without the proxy. */
let observer: LockClient;

const holderCount = async (name: string) => (await observer.get(name)).holderCount;

describe('behind a proxy that answers pings itself and cuts idle streams', () => {
  beforeAll(async () => {
    redis = await RedisProcess.start();
    server = await ServerProcess.start({ redisUrl: redis.url, env: ENV });
    proxy = await PingProxy.open(server.listen, IDLE_MS);
    observer = new LockClient(server.listen);
  });
  afterAll(() =>
    closeAll(
      () => observer?.close(),
      () => proxy?.close(),
      () => server?.close(),
      () => redis?.close(),
    ),
  );

  test('a session that only waits lives on, while the stream of a waiting HoldLock is cut', async () => {
    const held = await observer.acquire({ name: 'waited', ttlMs: 60_000 });
    const news: SessionNews[] = [];
    const session = openSession({ addresses: [proxy.address], onNews: (item) => news.push(item) });
    let isQueued = false;
    const waiting = lock(session, 'waited', { ttlMs: TTL_MS, onQueued: () => (isQueued = true) });
    await eventually('a place in the queue', () => isQueued);
    const stranger = new LockClient(proxy.address);
    const stream = stranger.hold({ name: 'waited', ttlMs: TTL_MS });
    await stream.ending;
    expect(proxy.cutCount).toBe(1);
    await sleep(IDLE_MS);
    expect([proxy.cutCount, news.map(({ kind }) => kind)]).toEqual([1, ['started']]);
    await observer.release(held.leaseId);
    const lease = await waiting;
    const first = lease.deadline;
    await eventually('a deadline two ttls later', () => lease.deadline > first + 2 * TTL_MS);
    await session.close();
    stranger.close();
  });

  test('the lease of a vanished client is free in a session, and stays held by HoldLock', async () => {
    const cable = await TcpProxy.open({ targetPort: proxy.port, protocol: 'tcp' });
    const session = openSession({ addresses: [cable.address] });
    await lock(session, 'in a session', { ttlMs: TTL_MS });
    const stranger = new LockClient(cable.address);
    const stream = stranger.hold({ name: 'by HoldLock', ttlMs: TTL_MS });
    await stream.next('granted');
    cable.blackHole('both');
    // The session's lease is free after at most min(heartbeat_timeout, ttl) + ttl.
    await eventually('the end of the lease', async () => (await holderCount('in a session')) === 0);
    await sleep(2 * TTL_MS);
    expect(await holderCount('by HoldLock')).toBe(1);
    stream.cancel();
    await session.close(100);
    stranger.close();
    await cable.close();
  });
});

describe('unfinished messages', () => {
  const MIB = 1024 * 1024;
  const LENGTH = 4 * MIB;
  const STREAMS = 600;
  beforeEach(async () => {
    redis = await RedisProcess.start();
    server = await ServerProcess.start({ redisUrl: redis.url });
  });
  afterEach(() =>
    closeAll(
      () => server.close(),
      () => redis.close(),
    ),
  );

  /** Starts messages that stop 10 bytes before their end. Resolves when `refusals` of them have ended. */
  async function attack(connections: readonly RawConnection[], refusals: number): Promise<void> {
    const part = Buffer.alloc(5 + LENGTH - 10);
    part.writeUInt32BE(LENGTH, 1);
    let refused = 0;
    for (let started = 0; started < STREAMS; started++) {
      const connection = connections[started % connections.length]!;
      const stream = connection.open({ path: AutocompleteServiceService.putEntries.path });
      stream.write(part);
      void stream.outcome.then(() => (refused += 1));
    }
    await eventually(`${refusals} refusals`, () => refused >= refusals, { timeoutMs: 120_000 });
  }

  async function answers(connection: RawConnection, name: string): Promise<void> {
    const request = acquireRequest({
      name,
      ttl: { seconds: 5n, nanos: 0 },
      waitTimeout: { seconds: 0n, nanos: 0 },
    });
    const body = frame(AcquireLockRequest.encode(request).finish());
    const { code, message } = await connection.call({ path: LockServiceService.acquireLock.path, body });
    expect({ code, message }).toEqual({ code: 0, message: 'OK' });
  }

  // Without bounds, 600 such messages take 2.5 GB. The bound here leaves room for memory that waits for its collection.
  test.each([
    { connectionCount: 1, refusals: STREAMS - 8, grownMib: 200 },
    { connectionCount: 20, refusals: STREAMS - 17, grownMib: 400 },
  ])(
    '600 messages without an end on $connectionCount connections take less than $grownMib MiB, and other clients are served',
    async ({ connectionCount, refusals, grownMib }) => {
      const innocent = new RawConnection(server.listen);
      const attackers = Array.from({ length: connectionCount }, () => new RawConnection(server.listen));
      try {
        await answers(innocent, 'before');
        const before = residentBytes(server.pid);
        const attacked = attack(attackers, refusals);
        await answers(innocent, 'during');
        await attacked;
        await answers(innocent, 'after');
        expect((residentBytes(server.pid) - before) / MIB).toBeLessThan(grownMib);
      } finally {
        for (const connection of [innocent, ...attackers]) connection.close();
      }
      server.assertNoUnhandled();
    },
  );
});
