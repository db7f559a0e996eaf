import { setTimeout as sleep } from 'node:timers/promises';
import type { SessionNews } from '../../clients/typescript/sessions/session-news';
import { closeAll, eventually } from '../support/eventually';
import { LockClient } from '../support/clients/lease-client';
import { lock, openSession } from '../support/clients/sdk-session';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import { PingProxy } from '../support/proxy/ping-proxy';
import { TcpProxy } from '../support/proxy/tcp-proxy';

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

const holderCount = async (name: string) => (await observer.get(name)).holderCount;

describe('behind a proxy that answers pings itself and cuts idle streams', () => {
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
