import { randomUUID } from 'node:crypto';
import { closeAll, eventually } from '../support/eventually';
import { endingOf, refusal } from '../support/clients/calls';
import { LockClient } from '../support/clients/lease-client';
import { TcpProxy, type RedisCommand } from '../support/proxy/tcp-proxy';
import { RedisProcess, serverUrl } from '../support/processes/redis-process';
import { InProcessServer } from './in-process-server';

/** The replies of Redis take longer than the ttl, so every grant ends before the server can report the grant. */
const TTL_MS = 100;
const REPLY_DELAY_MS = 160;
const CALLERS = 60;
const NAMES = 20;

const isScript = ({ name }: RedisCommand) => name === 'EVALSHA' || name === 'EVAL';

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

async function behindProxy(use: (proxy: TcpProxy, server: InProcessServer) => Promise<void>): Promise<void> {
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

test.concurrent('no caller without a request_id gets REQUEST_FINISHED for a grant that nobody reported', () =>
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

test.concurrent('a caller gets the lock after the reply to its grant was lost and the lease has ended', () =>
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
