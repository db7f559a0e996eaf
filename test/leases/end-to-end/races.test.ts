import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lease } from '../../../generated/typescript/holdfast/v1/lease';
import { InProcessServer } from '../../end-to-end/in-process-server';
import { ServerPair } from '../../end-to-end/server-pair';
import { endingOf, refusal } from '../../support/clients/calls';
import { LockClient, type SemaphoreClient } from '../../support/clients/lease-client';
import { lock, SessionStream } from '../../support/clients/session-stream';
import type { HoldStream } from '../../support/clients/streams';
import { closeAll, eventually } from '../../support/eventually';
import { RedisProcess, serverUrl } from '../../support/processes/redis-process';
import { TcpProxy } from '../../support/proxy/tcp-proxy';
import { isScript } from '../../support/redis-operations';

describe('semaphore races', () => {
  const HOUR_MS = 3_600_000;

  let pair: ServerPair;
  let clients: SemaphoreClient[];

  beforeAll(async () => {
    pair = await ServerPair.start();
    clients = [pair.first.semaphores(), pair.second.semaphores()];
  });

  afterAll(() => pair?.close());

  const clientOf = (index: number) => clients[index % clients.length] as SemaphoreClient;

  /** Resolves to undefined if the attempt is answered with CONTENDED. */
  async function attempt(client: SemaphoreClient, name: string, permitCount = 1): Promise<Lease | undefined> {
    try {
      return await client.acquire({ name, permitCount, ttlMs: 20_000, waitMs: 0 });
    } catch (error) {
      expect((await refusal(Promise.reject(error as Error))).reason).toBe('CONTENDED');
      return undefined;
    }
  }

  test('concurrent attempts get exactly as many permits as the limit allows (chapter 36)', async () => {
    for (let round = 0; round < 10; round += 1) {
      const name = `race ${round}`;
      await clientOf(round).setLimit(name, 3);
      const tries = Array.from({ length: 16 }, (_, index) => attempt(clientOf(index), name));
      const granted = (await Promise.all(tries)).filter((lease) => lease !== undefined);
      expect(granted).toHaveLength(3);
      // The renewal and the release succeed only if the lease is really held.
      const renewed = await Promise.all(granted.map(({ leaseId }) => clientOf(round).renew(leaseId)));
      expect(renewed.map(({ fencingToken }) => fencingToken)).toEqual(
        granted.map((lease) => lease.fencingToken),
      );
      for (const { leaseId } of granted) expect((await clientOf(round).release(leaseId)).released).toBe(true);
    }
  });

  test('all holders together never believe in more permits than the limit (chapter 37)', async () => {
    const name = 'believed';
    const limit = 5;
    await clientOf(0).setLimit(name, limit);
    let believed = 0;
    let maxBelieved = 0;
    const work = async (worker: number): Promise<void> => {
      for (let turn = 0; turn < 12; turn += 1) {
        const permitCount = 1 + ((worker + turn) % 3);
        const lease = await clientOf(worker).acquire({ name, permitCount, ttlMs: 20_000, waitMs: 20_000 });
        believed += permitCount;
        maxBelieved = Math.max(maxBelieved, believed);
        await sleep(turn % 3);
        believed -= permitCount;
        expect((await clientOf(worker + turn).release(lease.leaseId)).released).toBe(true);
      }
    };
    await Promise.all(Array.from({ length: 10 }, (_, worker) => work(worker)));
    expect(maxBelieved).toBeLessThanOrEqual(limit);
    expect(maxBelieved).toBeGreaterThan(1);
    expect(await clientOf(0).get(name)).toMatchObject({ usedCount: 0, holderCount: 0, waiterCount: 0 });
  });

  test('a server with a wrong clock grants no extra permit and expires no lease early (chapter 31)', async () => {
    const name = 'wrong clocks';
    await clientOf(0).setLimit(name, 2);
    const { now } = Date;
    const skewed = async <T>(byMs: number, act: () => Promise<T>): Promise<T> => {
      const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + byMs);
      try {
        return await act();
      } finally {
        clock.mockRestore();
      }
    };
    const honest = await clientOf(0).acquire({ name, ttlMs: 20_000 });
    const ahead = await skewed(HOUR_MS, () => attempt(clientOf(1), name));
    expect(ahead).toBeDefined();
    for (const byMs of [HOUR_MS, 10, -10, -HOUR_MS]) {
      // A clock ahead shows all leases as expired. A clock behind shows this request as the first request.
      expect(await skewed(byMs, () => attempt(clientOf(1), name))).toBeUndefined();
    }
    const { fencingToken } = await skewed(-HOUR_MS, () => clientOf(0).renew(honest.leaseId));
    expect(fencingToken).toBe(honest.fencingToken);
    expect((await clientOf(0).get(name)).usedCount).toBe(2);
    for (const lease of [honest, ahead as Lease])
      expect((await skewed(HOUR_MS, () => clientOf(1).release(lease.leaseId))).released).toBe(true);
  });

  test("one caller's short ttl does not end another caller's lease (chapter 31)", async () => {
    const name = 'short and long';
    await clientOf(0).setLimit(name, 3);
    const long = await clientOf(0).acquire({ name, ttlMs: 20_000 });
    for (let round = 0; round < 5; round += 1)
      await clientOf(1).acquire({ name, ttlMs: 500, waitMs: 20_000 });
    expect((await clientOf(0).renew(long.leaseId)).fencingToken).toBe(long.fencingToken);
  });
});

describe('reply order', () => {
  /**
   * Two calls of each request are on one server while Redis does not answer. Redis then answers all commands together, so
   * the server handles the replies in another order than Redis has made them. See docs/design/leases.md, rule 3.
   */

  /** Redis is stopped once for each request. */
  const REQUESTS = 12;
  const TTL_MS = 4000;
  const STOPPED_MS = 100;

  let redis: RedisProcess;
  let server: InProcessServer;
  const sessions: SessionStream[] = [];

  beforeAll(async () => {
    redis = await RedisProcess.start();
    server = await InProcessServer.start(redis.url);
  });
  afterAll(async () => {
    for (const session of sessions) session.close();
    await server?.close();
    await redis?.close();
  });

  interface Pair {
    readonly name: string;
    readonly requestId: string;
  }

  /** Stops Redis, releases the lock, runs the next step, and lets Redis continue. */
  async function releaseThen(release: () => Promise<unknown>, next: () => void): Promise<void> {
    await redis.stop();
    let released: Promise<unknown>;
    try {
      released = release();
      await sleep(STOPPED_MS / 2);
      next();
      await sleep(STOPPED_MS / 2);
    } finally {
      await redis.cont();
    }
    await released;
  }

  /**
   * For each request: a client holds the lock, `wait` begins to wait for it, and `repeat` asks again just after the release.
   */
  async function askTwice(
    title: string,
    wait: (pair: Pair) => Promise<unknown>,
    repeat: (pair: Pair) => void,
  ): Promise<void> {
    const holder = server.client();
    for (let index = 0; index < REQUESTS; index += 1) {
      const pair = { name: `${title}/${index}`, requestId: randomUUID() };
      const { leaseId } = await holder.acquire({ name: pair.name, ttlMs: 60_000 });
      await wait(pair);
      await releaseThen(
        () => holder.release(leaseId),
        () => repeat(pair),
      );
    }
  }

  test('two sessions of one client ask for the same requests: the later session keeps every lease, and the earlier session holds none', async () => {
    const clientId = randomUUID();
    const [earlier, later] = [1n, 2n].map(
      (sessionNumber) => new SessionStream(server.address, { start: { clientId, sessionNumber } }),
    ) as [SessionStream, SessionStream];
    sessions.push(earlier, later);
    const ids: number[] = [];
    const command = ({ name, requestId }: Pair) => lock(name, { requestId, ttlMs: TTL_MS });
    await askTwice(
      'sessions',
      (pair) => earlier.event(earlier.run(command(pair)), 'queued'),
      (pair) => ids.push(later.run(command(pair))),
    );
    for (const id of ids) await later.event(id, 'granted');
    const lastGranted = later.responses.length;
    const isRenewed = (id: number): boolean =>
      later.responses
        .slice(lastGranted)
        .some(({ renewals }) => renewals.some(({ leaseNumber }) => Number(leaseNumber) === id));
    await eventually('a renewal of every lease', () => ids.every(isRenewed));
    await eventually('an end of each older command', () =>
      ids.every((id) => earlier.kinds(id).some((kind) => kind === 'failed' || kind === 'ended')),
    );
    expect(ids.flatMap((id) => later.kinds(id))).toEqual(ids.map(() => 'granted'));
  });

  test('two hold streams of each request: the stream that Redis attached last keeps the lease', async () => {
    const [one, other] = [server.client(), server.client()];
    const older: HoldStream[] = [];
    const newer: HoldStream[] = [];
    await askTwice(
      'streams',
      (pair) => {
        const stream = one.hold({ ...pair, ttlMs: TTL_MS });
        older.push(stream);
        return stream.next('queued');
      },
      (pair) => newer.push(other.hold({ ...pair, ttlMs: TTL_MS })),
    );
    for (const [index, stream] of newer.entries()) {
      await stream.until('renewed');
      expect(stream.kinds.filter((kind) => kind === 'granted')).toHaveLength(1);
      expect(await older[index]?.ending).toMatchObject({ reason: 'SUPERSEDED' });
    }
  });
});

describe('late grants', () => {
  /** The replies of Redis take longer than the ttl, so every grant ends before the server can report the grant. */
  const TTL_MS = 100;
  const REPLY_DELAY_MS = 160;
  const CALLERS = 60;
  const NAMES = 20;

  let redis: RedisProcess;
  let onlooker: InProcessServer;

  beforeAll(async () => {
    redis = await RedisProcess.start();
    onlooker = await InProcessServer.start(redis.url);
  });

  afterAll(() =>
    closeAll(
      () => onlooker?.close(),
      () => redis?.close(),
    ),
  );

  async function behindProxy(
    use: (proxy: TcpProxy, server: InProcessServer) => Promise<void>,
  ): Promise<void> {
    const proxy = await TcpProxy.open({ targetPort: redis.port, protocol: 'redis' });
    const server = await InProcessServer.start(serverUrl(proxy.address));
    try {
      await use(proxy, server);
      proxy.passEverything();
      await server.idle();
    } finally {
      proxy.passEverything();
      await server.drain();
      await proxy.close();
    }
  }

  test.concurrent(
    'no caller without a request_id gets REQUEST_FINISHED for a grant that nobody reported',
    () =>
      behindProxy(async (proxy, server) => {
        const client = server.client();
        await client.get('connected');
        proxy.delay('toClient', REPLY_DELAY_MS);
        const calls = Array.from({ length: CALLERS }, async (_, index) => {
          const waitMs = index % 3 === 0 ? 0 : 400;
          const { reason } = await refusal(
            client.acquire({ name: `crowded ${index % NAMES}`, ttlMs: TTL_MS, waitMs }),
          );
          return { waitMs, reason };
        });
        for (const { waitMs, reason } of await Promise.all(calls)) {
          expect(waitMs === 0 ? ['CONTENDED', 'STORE_UNAVAILABLE'] : ['CONTENDED']).toContain(reason);
        }
      }),
  );

  test.concurrent(
    'a caller continues to wait if its grants come too late, and gets the lock when replies are fast',
    () =>
      behindProxy(async (proxy, server) => {
        const client = server.client();
        await client.get('connected');
        proxy.delay('toClient', REPLY_DELAY_MS);
        const name = 'slow store';
        const pending = client.acquire({ name, ttlMs: TTL_MS, waitMs: 60_000 });
        const tokens = new Set<bigint>();
        await eventually('two late grants', async () => {
          tokens.add((await onlooker.client().get(name)).lastFencingToken);
          return tokens.size > 2;
        });
        // On a busy machine a ttl of 100 ms may also pass in this process, and the wait goes on again.
        proxy.passEverything();
        const lease = await pending;
        expect(tokens).not.toContain(lease.fencingToken);
      }),
  );

  /** Loses the reply to an acquire, and holds the connection until the lease has ended. Resolves to the call's outcome. */
  async function acquireWithLostReply(proxy: TcpProxy, client: LockClient, name: string) {
    await eventually('a connection to Redis', () =>
      client.get(name).then(
        () => true,
        () => false,
      ),
    );
    const lost = proxy.dropNextReply(isScript);
    const pending = client.acquire({ name, ttlMs: 300, waitMs: 60_000 }).then(
      ({ fencingToken }) => ({ fencingToken, reason: undefined }),
      (error: unknown) => ({ fencingToken: 0n, reason: endingOf(error).reason }),
    );
    await Promise.race([lost, pending]);
    proxy.forgetTraps();
    proxy.blackHole('both'); // The server cannot send the command again before the lease has ended.
    const first = (await onlooker.client().get(name)).lastFencingToken;
    await eventually('the end of the lease', async () => {
      return (await onlooker.client().get(name)).holders.length === 0;
    });
    proxy.passEverything();
    return { first, ...(await pending) };
  }

  test.concurrent(
    'a caller gets the lock after the reply to its grant was lost and the lease has ended',
    () =>
      behindProxy(async (proxy, server) => {
        const client = server.client();
        for (let round = 0; ; round += 1) {
          const { first, fencingToken, reason } = await acquireWithLostReply(
            proxy,
            client,
            `lost reply ${round}`,
          );
          // On a busy machine the server may lose its next connection too.
          if (reason === 'OUTCOME_UNKNOWN' || reason === 'STORE_UNAVAILABLE') continue;
          expect(reason).toBeUndefined();
          expect(fencingToken).toBeGreaterThan(first);
          return;
        }
      }),
  );

  test.concurrent(
    'a caller that repeats its own request_id after its lease has ended gets REQUEST_FINISHED',
    async () => {
      const client = new LockClient(onlooker.address);
      const wanted = { name: 'own request_id', ttlMs: 1000, requestId: randomUUID() };
      await client.acquire(wanted);
      await eventually(
        'the end of the lease',
        async () => (await client.get(wanted.name)).holders.length === 0,
      );
      expect((await refusal(client.acquire(wanted))).reason).toBe('REQUEST_FINISHED');
      client.close();
    },
  );
});
