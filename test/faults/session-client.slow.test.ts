import { setTimeout as sleep } from 'node:timers/promises';
import type { Lease } from '../../clients/typescript';
import type { SessionClient } from '../../clients/typescript/sessions/session-client';
import type { SessionNews } from '../../clients/typescript/sessions/session-news';
import { closeAll, eventually } from '../support/eventually';
import { LockClient } from '../support/clients/lease-client';
import { causeOf, lock, openSession } from '../support/clients/sdk-session';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';

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
