import { randomUUID } from 'node:crypto';
import { LossCause } from '../../generated/typescript/holdfast/v1/lease';
import { runProgram } from '../support/cli/run-program';
import type { AutocompleteClient } from '../support/clients/autocomplete-client';
import { refusal } from '../support/clients/calls';
import { type LockClient, ms } from '../support/clients/lease-client';
import { closeAll, eventually, eventuallyPasses } from '../support/eventually';
import { RedisProcess, serverUrl } from '../support/processes/redis-process';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { isScript, scriptCalls } from '../support/redis-operations';
import { InProcessServer } from './in-process-server';

describe('store trouble', () => {
  const UNAVAILABLE = LossCause.LOSS_CAUSE_STORE_UNAVAILABLE;
  const COMMAND_TIMEOUT_MS = 300;

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

  /** Runs a server behind a proxy, so that the test can block the server's connection to Redis. */
  async function behindProxy(use: (proxy: TcpProxy, client: LockClient) => Promise<void>): Promise<void> {
    const proxy = await TcpProxy.open({ targetPort: redis.port, protocol: 'redis' });
    const env = { HOLDFAST_COMMAND_TIMEOUT: `${COMMAND_TIMEOUT_MS}ms` };
    const server = await InProcessServer.start(serverUrl(proxy.address), env);
    const heal = (): void => {
      proxy.passEverything();
      proxy.cutAll();
    };
    try {
      await use(proxy, server.client());
      heal();
      // The server releases a lease if the store may have granted the lease without an answer.
      await server.idle();
    } finally {
      heal();
      await server.drain();
      await proxy.close();
    }
  }

  test.concurrent('a drained server retries no command to a store that does not answer', async () => {
    const proxy = await TcpProxy.open({ targetPort: redis.port, protocol: 'redis' });
    const env = { HOLDFAST_COMMAND_TIMEOUT: `${COMMAND_TIMEOUT_MS}ms` };
    const server = await InProcessServer.start(serverUrl(proxy.address), env);
    try {
      const stream = server.client().hold({ name: 'lost before the drain', ttlMs: 2100 });
      await stream.until('granted');
      const holder = await onlooker.client().acquire({ name: 'given back', ttlMs: 20_000 });
      const waiter = refusal(server.client().acquire({ name: 'given back', waitMs: 60_000 }));
      await eventually('the waiter to be in the queue', async () => {
        return (await onlooker.client().get('given back')).waiterCount === 1;
      });
      proxy.blackHole('both');
      // The server releases a lost lease in the background. The drain adds a give-back of the waiter's place.
      await stream.until('lost');
      await server.drain();
      expect((await waiter).reason).toBe('OUTCOME_UNKNOWN');
      expect(server.stats['timerCount']).toBe(0);
      await server.idle();
      await onlooker.client().release(holder.leaseId);
    } finally {
      await server.drain();
      await proxy.close();
    }
  });

  describe('a hold stream', () => {
    test.concurrent(
      'sends renewal_failed when the store does not answer, and lost at the last confirmed end',
      () =>
        behindProxy(async (proxy, client) => {
          const stopwatch = redis.stopwatch();
          const stream = client.hold({ name: 'lost', ttlMs: 2100 });
          const { expireOffset } = await stream.until('renewed');
          proxy.blackHole('both');
          const failed = await stream.next('renewalFailed');
          expect(failed).toEqual({ cause: UNAVAILABLE, expireOffset });
          expect(await stream.until('lost')).toEqual({ cause: UNAVAILABLE });
          const late = (stream.received.at(-1)?.at ?? NaN) - (stream.openedAt + ms(expireOffset));
          expect(late).toBeGreaterThan(-5);
          expect(late).toBeLessThan(250 + stopwatch.coreWaitMs);
          expect(await stream.ending).toMatchObject({
            code: 'ABORTED',
            reason: 'LEASE_LOST',
            metadata: { cause: 'STORE_UNAVAILABLE' },
          });
        }),
    );

    test.concurrent('sends renewed with a later end when the store answers again in time', () =>
      behindProxy(async (proxy, client) => {
        const stream = client.hold({ name: 'saved', ttlMs: 3000 });
        await stream.next('granted');
        const { expireOffset: before } = await stream.next('renewed');
        proxy.blackHole('both');
        await stream.next('renewalFailed');
        proxy.passEverything();
        proxy.cutAll();
        const { expireOffset: after } = await stream.until('renewed');
        expect(ms(after)).toBeGreaterThan(ms(before));
        await stream.next('renewed');
        expect(stream.kinds).not.toContain('lost');
        stream.cancel();
      }),
    );

    test.concurrent(
      'sends lost with STORE_RESET within one renewal interval after the keys of its lease were deleted',
      async () => {
        const client = onlooker.client();
        const stream = client.hold({ name: 'erased', ttlMs: 3000 });
        await stream.until('renewed');
        const keys = (await redis.command('KEYS', 'holdfast:*:erased')) as string[];
        expect(keys.length).toBeGreaterThan(0);
        await redis.command('DEL', ...keys);
        const stopwatch = redis.stopwatch();
        expect(await stream.until('lost')).toEqual({ cause: LossCause.LOSS_CAUSE_STORE_RESET });
        expect(stopwatch.chargedMs).toBeLessThan(1000 + 500);
        expect(await stream.ending).toMatchObject({
          code: 'ABORTED',
          reason: 'LEASE_LOST',
          metadata: { cause: 'STORE_RESET' },
        });
        expect(stream.kinds.at(-1)).toBe('lost');
      },
    );
  });

  describe('a unary call', () => {
    test.concurrent('answers STORE_UNAVAILABLE if its command was never sent', () =>
      behindProxy(async (proxy, client) => {
        const { leaseId } = await client.acquire({ name: 'unsent', ttlMs: 20_000 });
        proxy.refuseNew();
        proxy.cutAll();
        await eventually('the lost connection to be noticed', async () => {
          const ending = await refusal(client.get('unsent'));
          return ending.reason === 'STORE_UNAVAILABLE';
        });
        const calls = [client.acquire({ name: 'unsent' }), client.renew(leaseId), client.release(leaseId)];
        for (const call of calls) {
          const ending = await refusal(call);
          expect(ending).toMatchObject({ code: 'UNAVAILABLE', reason: 'STORE_UNAVAILABLE' });
          expect(ending.retryAfterMs).toBeGreaterThan(0);
        }
      }),
    );

    test.concurrent(
      'answers OUTCOME_UNKNOWN if its command may have been carried out, and a retry gets the lease',
      () =>
        behindProxy(async (proxy, client) => {
          const requestId = randomUUID();
          const sent = new Promise<void>((resolve) => {
            proxy.on(
              'command',
              (command) => isScript(command) && command.args.includes(requestId) && resolve(),
            );
          });
          await client.acquire({ name: 'warm the scripts', ttlMs: 1000 });
          proxy.blackHole('toClient');
          const stopwatch = redis.stopwatch();
          const ending = refusal(client.acquire({ name: 'unknown', ttlMs: 20_000, requestId }));
          await sent;
          expect(await ending).toMatchObject({
            code: 'UNAVAILABLE',
            reason: 'OUTCOME_UNKNOWN',
            metadata: { request_id: requestId },
          });
          expect(stopwatch.chargedMs).toBeLessThan(COMMAND_TIMEOUT_MS + 750);
          const lease = await onlooker.client().acquire({ name: 'unknown', ttlMs: 20_000, requestId });
          expect(lease.requestId).toBe(requestId);
        }),
    );
  });
});

describe('idle quarantine', () => {
  /** Servers without calls, over a Redis that is emptied. */

  let redis: RedisProcess;
  const servers: InProcessServer[] = [];

  beforeAll(async () => {
    redis = await RedisProcess.start({ inMemory: true });
    for (let count = 0; count < 2; count += 1) {
      servers.push(await InProcessServer.start(redis.url, { HOLDFAST_ADMIN_LISTEN: '127.0.0.1:0' }));
    }
  });
  afterAll(() =>
    closeAll(...servers.map((server) => () => server.closeDespiteWarnings()), () => redis.close()),
  );

  const page = async (server: InProcessServer, path: string): Promise<string> =>
    (await fetch(`http://${server.adminAddress}${path}`)).text();

  const remaining = async (server: InProcessServer): Promise<number> =>
    Number(/^holdfast_quarantine_remaining_seconds (\S+)$/m.exec(await page(server, '/metrics'))?.[1]);

  test('the metric, the log, health, readyz and `holdfast status` show the quarantine after FLUSHALL', async () => {
    expect(await Promise.all(servers.map(remaining))).toEqual([0, 0]);
    await redis.command('FLUSHALL');
    for (const server of servers) {
      // A scrape is no call: only the server itself can find out.
      await eventuallyPasses('the metric', async () => expect(await remaining(server)).toBeGreaterThan(0));
      expect(server.warnings.map(({ msg }) => msg)).toContain(
        'the store is in quarantine: nothing is granted',
      );
      const run = (command: string) => runProgram([...command.split(' '), '-a', server.address]);
      expect((await run('health --service holdfast.grants')).out).toBe('NOT_SERVING\n');
      const { out } = await run('status');
      expect(out).toMatch(/^store +quarantined$/m);
      expect(out).toMatch(/^grants +paused until .*, because the store was emptied or is new;/m);
      expect(await page(server, '/readyz')).toContain('quarantine');
    }
  });
});

describe('a replica of the Redis with the dictionaries', () => {
  let primary: RedisProcess;
  let replica: RedisProcess;
  let server: InProcessServer;
  let client: AutocompleteClient;
  beforeAll(async () => {
    // The option makes the primary send its data immediately. By default the primary waits for more replicas.
    primary = await RedisProcess.start({ args: ['--repl-diskless-sync-delay', '0'] });
    replica = await RedisProcess.start({ args: ['--replicaof', '127.0.0.1', String(primary.port)] });
    await eventually('the replication link', async () => /^master_link_status:up/m.test(await info(replica)));
    server = await InProcessServer.start(primary.url, {
      HOLDFAST_REDIS_REPLICA_URL: replica.url,
      HOLDFAST_COMMAND_TIMEOUT: '2s',
    });
    client = server.autocomplete();
    // The server connects to the replica in the background.
    let count = 0;
    await eventually('a load from the replica', async () => {
      const before = await readCount(replica);
      count += 1;
      await load(await dictionary(`first ${count}`, 'a'));
      return (await readCount(replica)) > before;
    });
  });
  afterAll(async () => {
    // The server may warn when the replica disconnects. The warning is correct here.
    server?.warnings.splice(0);
    await closeAll(
      () => server?.close(),
      () => replica?.close(),
      () => primary?.close(),
    );
  });

  const info = async (redis: RedisProcess) => String(await redis.command('INFO', 'replication'));

  /** The number of scripts and functions that clients ran on this node. Replicated commands do not count. */
  async function readCount(redis: RedisProcess): Promise<number> {
    return scriptCalls(String(await redis.command('INFO', 'commandstats')));
  }

  const offset = async (redis: RedisProcess) => /^master_repl_offset:(\d+)/m.exec(await info(redis))?.[1];

  /** Creates a dictionary. The id of an entry is its text. */
  async function dictionary(name: string, ...texts: string[]): Promise<string> {
    await client.create(name);
    await put(name, ...texts);
    return name;
  }

  const put = (name: string, ...texts: string[]) =>
    client.put(name, ...texts.map((text) => ({ entryId: text, text })));
  const load = (name: string) => client.texts({ dictionary: name, query: 'a' });
  const caughtUp = () =>
    eventually('the replica to catch up', async () => (await offset(primary)) === (await offset(replica)));

  it('serves the load of a dictionary, and no other call', async () => {
    const name = await dictionary('loaded', 'aa', 'ab');
    await caughtUp();
    const before = await readCount(replica);
    expect(await load(name)).toEqual(['aa', 'ab']);
    const loaded = await readCount(replica);
    expect(loaded).toBeGreaterThan(before);
    await put(name, 'ac');
    expect(await load(name)).toEqual(['aa', 'ab', 'ac']);
    expect(await client.select(name, 'ac')).toBe(1n);
    expect((await client.list({ dictionary: name })).entries).toHaveLength(3);
    expect((await client.get(name))?.entryCount).toBe(3n);
    expect(await load(name)).toEqual(['ac', 'aa', 'ab']);
    expect(await readCount(replica)).toBe(loaded);
  });

  it('never makes an answer out of date: a load has the latest writes of the primary', async () => {
    const name = await dictionary('behind', 'aa');
    await caughtUp();
    // The replica runs the commands of clients, but gets no more writes.
    await replica.command('REPLICAOF', '127.0.0.1', '1');
    try {
      await put(name, 'ab');
      expect(await client.delete(name, 'aa')).toBe(1);
      expect(await load(name)).toEqual(['ab']);
      // The replica does not have this dictionary.
      expect(await load(await dictionary('unknown to the replica', 'ac'))).toEqual(['ac']);
    } finally {
      await replica.command('REPLICAOF', '127.0.0.1', String(primary.port));
    }
  });

  it('is not needed: the primary serves the load while the replica is paused or killed', async () => {
    await replica.stop();
    expect(await load(await dictionary('while paused', 'aa', 'ab'))).toEqual(['aa', 'ab']);
    await replica.cont();
    await replica.kill();
    expect(await load(await dictionary('while killed', 'ac', 'ad'))).toEqual(['ac', 'ad']);
    await replica.restart();
    let count = 0;
    await eventually('a load from the replica', async () => {
      const before = await readCount(replica);
      count += 1;
      const name = await dictionary(`after the restart ${count}`, 'a');
      expect(await load(name)).toEqual(['a']);
      return (await readCount(replica)) > before;
    });
  });
});
