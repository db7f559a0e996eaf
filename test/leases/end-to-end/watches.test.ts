import type { Lock } from '../../../generated/typescript/holdfast/v1/lock_service';
import type { Semaphore } from '../../../generated/typescript/holdfast/v1/semaphore_service';
import { InProcessServer } from '../../end-to-end/in-process-server';
import { ServerPair } from '../../end-to-end/server-pair';
import { type LockClient, ms, type SemaphoreClient } from '../../support/clients/lease-client';
import { closeAll, eventually } from '../../support/eventually';
import { RedisProcess, SERVER_USER } from '../../support/processes/redis-process';

/** A change reaches a watcher within this time by a hint. Without hints, it takes up to a second. */
const BY_HINT_MS = 250;

let pair: ServerPair;
/** Changes come from the first server, and watches are at the second server. */
let client: LockClient;
let watcher: LockClient;
let semaphores: SemaphoreClient;
let semaphoreWatcher: SemaphoreClient;

beforeAll(async () => {
  pair = await ServerPair.start();
  client = pair.first.client();
  watcher = pair.second.client();
  semaphores = pair.first.semaphores();
  semaphoreWatcher = pair.second.semaphores();
});

afterAll(() => pair?.close());

const holderIds = (lock: Lock | Semaphore) => lock.holders.map(({ holderId }) => holderId);
const withoutEnds = (lock: Lock) => ({
  ...lock,
  holders: lock.holders.map((holder) => ({ ...holder, expireTime: undefined })),
});
const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

interface Trouble {
  readonly redis: RedisProcess;
  /** Changes come from this client. */
  readonly other: LockClient;
  readonly watched: InProcessServer;
}

/** Two servers with a Redis of their own. */
const inTrouble = (run: (trouble: Trouble) => Promise<void>) => async (): Promise<void> => {
  const redis = await RedisProcess.start();
  const servers: InProcessServer[] = [];
  try {
    for (let count = 0; count < 2; count += 1) servers.push(await InProcessServer.start(redis.url));
    const [first, watched] = servers as [InProcessServer, InProcessServer];
    await run({ redis, other: first.client(), watched });
  } finally {
    await closeAll(...servers.map((server) => () => server.closeDespiteWarnings()), () => redis.close());
  }
};

describe('a watch of a lock at another server', () => {
  test.concurrent('gets the free lock at once, and each grant, waiter, hand-over and release', async () => {
    const name = 'watched';
    const watch = watcher.watch(name);
    expect(await watch.next()).toMatchObject({ name, holderCount: 0, waiterCount: 0, lastFencingToken: 0n });
    const metadata = { address: '10.0.0.1:80' };
    const alice = await client.acquire({ name, holderId: 'alice', metadata, ttlMs: 20_000 });
    const held = await watch.until(({ holderCount }) => holderCount === 1);
    expect(held).toMatchObject({
      lastFencingToken: alice.fencingToken,
      holders: [{ holderId: 'alice', fencingToken: alice.fencingToken, permitCount: 1 }],
    });
    expect(held.holders[0]?.metadata).toEqual(new Map(Object.entries(metadata)));
    const waiting = client.acquire({ name, holderId: 'bob', waitMs: 20_000 });
    expect(await watch.until(({ waiterCount }) => waiterCount === 1)).toMatchObject({
      holders: [{ holderId: 'alice' }],
      waiters: [{ holderId: 'bob', position: 1 }],
    });
    await client.release(alice.leaseId);
    await watch.until((lock) => holderIds(lock)[0] === 'bob' && lock.waiterCount === 0);
    await client.release((await waiting).leaseId);
    const last = await watch.until(({ holderCount }) => holderCount === 0);
    expect(last).toEqual(await client.get(name));
    watch.cancel();
  });

  test.concurrent('gets a change within 250 ms by a hint', async () => {
    const name = 'by hint';
    const watch = watcher.watch(name);
    await watch.next();
    const times: number[] = [];
    for (let round = 0; round < 11; round += 1) {
      const stopwatch = pair.stopwatch();
      const { leaseId } = await client.acquire({ name, ttlMs: 20_000 });
      await watch.until(({ holderCount }) => holderCount === 1);
      times.push(stopwatch.chargedMs);
      await client.release(leaseId);
      await watch.until(({ holderCount }) => holderCount === 0);
    }
    // Without hints, the median is half a second.
    expect(median(times)).toBeLessThan(BY_HINT_MS);
    watch.cancel();
  });

  test.concurrent('sees the expiry of a lease within 250 ms, although no script runs', async () => {
    const name = 'expires';
    const watch = watcher.watch(name);
    const sentAt = performance.now();
    const { expireOffset } = await client.acquire({ name, ttlMs: 1500 });
    await watch.until(({ holderCount }) => holderCount === 1);
    const stopwatch = pair.stopwatch();
    await watch.until(({ holderCount }) => holderCount === 0);
    const late = performance.now() - (sentAt + ms(expireOffset));
    expect(late).toBeGreaterThan(-100);
    expect(late).toBeLessThan(BY_HINT_MS + stopwatch.coreWaitMs);
    watch.cancel();
  });

  test.concurrent('sends nothing for a renewal', async () => {
    const name = 'renewed';
    const stream = client.hold({ name, ttlMs: 600 });
    await stream.until('granted');
    const watch = watcher.watch(name);
    await watch.until(({ holderCount }) => holderCount === 1);
    for (let renewal = 0; renewal < 12; renewal += 1) await stream.until('renewed');
    expect(watch.states).toHaveLength(1);
    stream.cancel();
    watch.cancel();
  });

  it('shares its states with other watches of the name, and each watch ends alone', async () => {
    const name = 'shared';
    const watches = Array.from({ length: 20 }, () => watcher.watch(name));
    for (const watch of watches) await watch.next();
    watches.pop()?.cancel();
    const { leaseId } = await client.acquire({ name, ttlMs: 20_000 });
    for (const watch of watches) await watch.until(({ holderCount }) => holderCount === 1);
    expect(pair.second.stats).toMatchObject({ watchReaderCount: 1 });
    for (const watch of watches) watch.cancel();
    await client.release(leaseId);
    await pair.second.idle();
  });
});

test.concurrent('observers on all servers see the leader, its address and the next leader', async () => {
  const name = 'leader';
  const observers = [client.watch(name), watcher.watch(name)];
  const candidate = (at: LockClient, id: string) =>
    at.hold({ name, holderId: id, metadata: { address: `${id}.example:7000` }, ttlMs: 2000 });
  const first = candidate(client, 'node-1');
  await first.until('granted');
  const second = candidate(watcher, 'node-2');
  await second.until('queued');
  const address = (lock: Lock) => lock.holders[0]?.metadata.get('address');
  for (const observer of observers) {
    await observer.until((lock) => address(lock) === 'node-1.example:7000' && lock.waiterCount === 1);
  }
  first.cancel(); // node-1 has crashed: its lease ends by itself
  for (const observer of observers) {
    const lock = await observer.until((state) => address(state) === 'node-2.example:7000');
    expect(lock).toMatchObject({ holderCount: 1, waiterCount: 0 });
    observer.cancel();
  }
  second.cancel();
});

test.concurrent(
  'a watch of a semaphore gets each change of its limit and of its holders, and ends with NO_SUCH_SEMAPHORE after its deletion',
  async () => {
    const name = 'limited';
    await semaphores.setLimit(name, 3);
    const watch = semaphoreWatcher.watch(name);
    expect(await watch.next()).toMatchObject({ limit: 3, usedCount: 0 });
    await semaphores.acquire({ name, permitCount: 2, ttlMs: 20_000 });
    await watch.until(({ usedCount, holderCount }) => usedCount === 2 && holderCount === 1);
    await semaphores.setLimit(name, 1);
    await watch.until(({ limit, overcommittedCount }) => limit === 1 && overcommittedCount === 1);
    await semaphores.delete(name, true);
    expect(await watch.ending).toMatchObject({ code: 'NOT_FOUND', reason: 'NO_SUCH_SEMAPHORE' });
  },
);

test.concurrent(
  'a watch of a semaphore ends with NO_SUCH_SEMAPHORE if there is no such semaphore',
  async () => {
    const watch = semaphoreWatcher.watch('unknown');
    expect(await watch.ending).toMatchObject({ code: 'NOT_FOUND', reason: 'NO_SUCH_SEMAPHORE' });
    expect(watch.states).toEqual([]);
  },
);

// Not concurrent, because servers that start in this process would delay its changes.
test(
  'a watch at a server with a store in trouble sees each change within about a second if no hint arrives',
  inTrouble(async ({ redis, other, watched }) => {
    await redis.command('ACL', 'SETUSER', SERVER_USER, 'resetchannels');
    const watch = watched.client().watch('no hints');
    await watch.next();
    for (let round = 0; round < 3; round += 1) {
      const stopwatch = redis.stopwatch();
      const { leaseId } = await other.acquire({ name: 'no hints', ttlMs: 60_000 });
      await watch.until(({ holderCount }) => holderCount === 1);
      await other.release(leaseId);
      await watch.until(({ holderCount }) => holderCount === 0);
      expect(stopwatch.chargedMs).toBeLessThan(2 * (1000 + BY_HINT_MS));
    }
    watch.cancel();
  }),
);

test.concurrent(
  'a watch at a server with a store in trouble misses no change when the connections for hints are cut',
  inTrouble(async ({ redis, other, watched }) => {
    const watch = watched.client().watch('cut');
    await watch.next();
    for (let round = 0; round < 5; round += 1) {
      await redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
      const { leaseId } = await other.acquire({ name: 'cut', ttlMs: 60_000 });
      await watch.until(({ holderCount }) => holderCount === 1);
      await other.release(leaseId);
      await watch.until(({ holderCount }) => holderCount === 0);
    }
    watch.cancel();
  }),
);

test.concurrent(
  'a watch at a server with a store in trouble goes on by itself after the store was gone',
  inTrouble(async ({ redis, other, watched }) => {
    const name = 'gone and back';
    const watch = watched.client().watch(name);
    await other.acquire({ name, holderId: 'before', ttlMs: 2000 });
    await watch.until((lock) => holderIds(lock)[0] === 'before');
    await redis.kill();
    await new Promise((resolve) => setTimeout(resolve, 3000));
    await redis.restart();
    await watch.until(({ holderCount }) => holderCount === 0);
    const lease = await eventually(
      'a grant after the restart',
      () => other.acquire({ name, holderId: 'after', ttlMs: 60_000 }).catch(() => undefined),
      { timeoutMs: 60_000 },
    );
    const seen = await watch.until((lock) => holderIds(lock)[0] === 'after');
    expect(seen.lastFencingToken).toBe(lease?.fencingToken);
    expect(withoutEnds(seen)).toEqual(withoutEnds(await other.get(name)));
    watch.cancel();
  }),
);

test.concurrent(
  'a watch at a server with a store in trouble ends with DRAINING when its server stops',
  inTrouble(async ({ watched }) => {
    const watch = watched.client().watch('drained');
    await watch.next();
    const draining = watched.drain();
    expect(await watch.ending).toMatchObject({ code: 'UNAVAILABLE', reason: 'DRAINING' });
    await draining;
  }),
);
