import { openClient, safeOptions } from '../../src/redis/redis-client';
import { RedisPassword } from '../../src/redis/redis-password';
import { DictionaryImport } from '../support/clients/autocomplete-client';
import { closeAll, eventually, eventuallyPasses } from '../support/eventually';
import {
  acceptedCount,
  connectionsOf,
  FIRST_PASSWORD,
  killConnections,
  NEXT_PASSWORD,
  passwordFile,
  setUser,
} from '../support/password-rotation';
import { documentedRules, RedisProcess, type Role, SERVER_USER } from '../support/processes/redis-process';
import { InProcessServer } from './in-process-server';
import { untilWaiterCount } from './server-pair';

/** The documented commands that no script of locks and semaphores calls: a connection sends them itself. */
const SENT_BY_CONNECTIONS = [
  ...[
    'ping',
    'time',
    'info',
    'config|get',
    'script|load',
    'function|load',
    'function|list',
    'fcall',
    'eval',
    'evalsha',
    'eval_ro',
    'wait',
    'ssubscribe',
  ],
];

/** Whole servers with exactly the rights of docs/operations/deploy.md, on Redis processes without any other open user. */
describe('servers with exactly the documented rights', () => {
  const redis: RedisProcess[] = [];
  let servers: InProcessServer[] = [];
  let primary: RedisProcess;
  let dictionaries: RedisProcess;
  let replica: RedisProcess;

  beforeAll(async () => {
    primary = await start('servers');
    const follower = await start('servers', ['--replicaof', '127.0.0.1', String(primary.port)]);
    dictionaries = await start('dictionaries');
    replica = await start('replica', ['--replicaof', '127.0.0.1', String(dictionaries.port)]);
    for (const one of [follower, replica]) {
      await eventually('the replication link', async () =>
        /^master_link_status:up/m.test(String(await one.command('INFO', 'replication'))),
      );
    }
    await primary.command('CONFIG', 'SET', 'min-replicas-to-write', 1);
    for (const one of redis) await one.command('ACL', 'SETUSER', 'default', 'off');
    for (const one of redis) await one.command('CONFIG', 'RESETSTAT');
    servers = [
      await InProcessServer.start(primary.url),
      await InProcessServer.start(primary.url, {
        HOLDFAST_DICTIONARY_REDIS_URL: dictionaries.url,
        HOLDFAST_REDIS_REPLICA_URL: replica.url,
      }),
    ];
  });
  afterAll(() =>
    closeAll(...servers.map((one) => () => one.close()), ...redis.map((one) => () => one.close())),
  );

  /** The connection of the test is open before the default user is switched off, and keeps its rights. */
  async function start(role: Role, args: readonly string[] = []): Promise<RedisProcess> {
    const one = await RedisProcess.start({ args: ['--repl-diskless-sync-delay', '0', ...args] });
    redis.push(one);
    await one.command('ACL', 'SETUSER', SERVER_USER, ...documentedRules(role));
    return one;
  }

  const [first, second] = [() => servers[0] as InProcessServer, () => servers[1] as InProcessServer];

  it('serve locks: queues, hand-overs, renewals, watches, lists and revocation', async () => {
    const [client, rival] = [first().client(), second().client()];
    const watch = rival.watch('lock');
    const { leaseId } = await client.acquire({ name: 'lock', holderId: 'alice' });
    const waiting = rival.acquire({ name: 'lock', waitMs: 60_000 });
    await untilWaiterCount(client, 'lock', 1);
    await client.renew(leaseId, 30_000);
    await client.release(leaseId);
    const { fencingToken } = await waiting;
    await watch.until(({ lastFencingToken }) => lastFencingToken === fencingToken);
    watch.cancel();
    expect((await client.list({ namePrefix: 'lo', pageSize: 10 })).locks).toHaveLength(1);
    const target = { $case: 'fencingToken', value: fencingToken } as const;
    await client.revoke({ name: 'lock', target, reason: 'test' });
    expect(await client.get('lock')).toMatchObject({ name: 'lock' });
  });

  it('serve semaphores, and wait until the replica has each change of a limit', async () => {
    const [client, rival] = [first().semaphores(), second().semaphores()];
    await client.setLimit('pool', 2);
    const { leaseId } = await client.acquire({ name: 'pool', permitCount: 2 });
    const stream = rival.hold({ name: 'pool', permitCount: 1 });
    await stream.next('queued');
    await client.release(leaseId);
    await stream.next('granted');
    stream.cancel();
    expect((await client.list({ pageSize: 10 })).semaphores).toHaveLength(1);
    await client.delete('pool', true);
  });

  it.each([
    ['the same Redis', first],
    ['a Redis of their own, and load them from a replica', second],
  ])('serve recents, and dictionaries on %s', async (_, server) => {
    const client = server().autocomplete();
    await client.addRecent({ list: 'mine', text: 'lately' });
    expect(await client.recents({ list: 'mine', query: 'la' })).toEqual(['lately']);
    await client.create('words');
    await client.put('words', { entryId: 'a', text: 'straw' }, { entryId: 'b', text: 'strong' });
    await client.select('words', 'b', 3);
    expect(await client.texts({ dictionary: 'words', query: 'str' })).toEqual(['strong', 'straw']);
    expect(await client.delete('words', 'a')).toBe(1);
    const replacing = new DictionaryImport(client.stub, 'words');
    await replacing.send([{ entryId: 'c', text: 'street' }]);
    expect(await replacing.commit()).toMatchObject({ code: 'OK' });
    await eventually('the imported entries', async () => {
      const found = await client.texts({ dictionary: 'words', query: 'str' });
      return found.join() === 'street';
    });
    expect(await client.get('words')).toMatchObject({ entryCount: 1n });
  });

  it('are never refused a command, and have used every right that only connections need', async () => {
    for (const one of redis) {
      const refused = ((await one.command('ACL', 'LOG')) as string[][]).map((entry) => entry.join(' '));
      expect(refused).toEqual([]);
    }
    // A connection sends its first ping after a second.
    await eventuallyPasses('the use of each right', async () => {
      const stats = String(await primary.command('INFO', 'commandstats'));
      const used = [...stats.matchAll(/^cmdstat_(\S+?):calls=[1-9]/gm)].map(([, name]) => name);
      expect(used).toEqual(expect.arrayContaining(SENT_BY_CONNECTIONS));
    });
    expect(String(await replica.command('INFO', 'commandstats'))).toMatch(/^cmdstat_evalsha:calls=[1-9]/m);
  });

  it('have no other user that could connect', async () => {
    for (const one of redis) {
      const users = (await one.command('ACL', 'LIST')) as string[];
      expect(users.filter((user) => user.split(' ')[2] === 'on')).toEqual([
        expect.stringMatching(/^user holdfast on /),
      ]);
    }
  });
});

describe('a server that lacks a right', () => {
  let redis: RedisProcess;
  let other: RedisProcess;
  beforeAll(async () => {
    [redis, other] = await Promise.all([RedisProcess.start(), RedisProcess.start()]);
    await other.command('ACL', 'SETUSER', SERVER_USER, '-hset');
  });
  afterAll(() =>
    closeAll(
      () => redis?.close(),
      () => other?.close(),
    ),
  );

  it('ends at its start, and names the address, the command and the page with the rights', async () => {
    await expect(InProcessServer.start(other.url)).rejects.toThrow(
      `Redis cannot be used at redis://127.0.0.1:${other.port} (HOLDFAST_REDIS_URL): this Redis user may not run HSET on the keys holdfast:*, so calls fail; give the user the rights of docs/operations/deploy.md#redis-user`,
    );
  });

  it('starts if only the Redis of the dictionaries refuses the right, and logs the setting and the command', async () => {
    const server = await InProcessServer.start(redis.url, { HOLDFAST_DICTIONARY_REDIS_URL: other.url });
    try {
      const sentence =
        /^HOLDFAST_DICTIONARY_REDIS_URL: this Redis user may not run HSET on the keys holdfast/;
      await eventually('the warning', () => server.warnings.some(({ msg }) => sentence.test(String(msg))));
    } finally {
      await server.closeDespiteWarnings();
    }
  });
});

describe('redis password', () => {
  /** Servers with the password of Redis in a file, which is changed in the order of security.md and in others. */

  const closers: (() => Promise<void>)[] = [];
  afterAll(() => closeAll(...closers));

  /** A Redis, and a server with a file of its password. */
  async function start() {
    const redis = await RedisProcess.start({ inMemory: true });
    closers.push(() => redis.close());
    // The connection of the test stays open.
    await redis.command('ACL', 'SETUSER', 'default', 'off');
    const { write, env } = passwordFile(redis.url);
    const server = await InProcessServer.start(redis.url, env);
    closers.unshift(() => server.closeDespiteWarnings());
    return {
      redis,
      server,
      client: server.client(),
      write,
      refusals: () =>
        server.warnings.filter(({ problem }) => /refuses the new password/.test(String(problem))),
      /** The command connection and the subscriptions are there. */
      reconnected: () =>
        eventuallyPasses('the connections', async () => {
          expect(await connectionsOf(redis)).toMatchObject({ subscribed: 1 });
          expect((await connectionsOf(redis)).count).toBeGreaterThan(1);
        }),
    };
  }

  test.concurrent('a password is changed without the end of a connection, and nothing is lost', async () => {
    const { redis, client, write, refusals, reconnected } = await start();
    const kept = await client.acquire({ name: 'kept', ttlMs: 60_000 });
    const before = await connectionsOf(redis);
    const accepted = await acceptedCount([redis]);
    const ids = String(await redis.command('CLIENT', 'LIST')).match(/^id=\d+/gm);

    await setUser([redis], `>${NEXT_PASSWORD}`);
    write(NEXT_PASSWORD);
    await eventually('the new password', async () => (await acceptedCount([redis])) > accepted);
    expect(String(await redis.command('CLIENT', 'LIST')).match(/^id=\d+/gm)).toEqual(ids);
    expect(await connectionsOf(redis)).toEqual(before);
    await setUser([redis], `<${FIRST_PASSWORD}`);
    expect((await client.renew(kept.leaseId)).leaseId).toBe(kept.leaseId);

    // The password that Redis no longer knows is used by no connection.
    await killConnections([redis]);
    await reconnected();
    expect((await client.renew(kept.leaseId)).leaseId).toBe(kept.leaseId);
    await client.acquire({ name: 'later' });
    expect(refusals()).toEqual([]);
  });

  test.concurrent(
    'a file with a password that Redis does not know yet changes nothing, until Redis knows it',
    async () => {
      const { redis, client, write, refusals, reconnected } = await start();
      write(NEXT_PASSWORD);
      await eventually('the warning', () => refusals().length === 1);
      await killConnections([redis]);
      await reconnected();
      await client.acquire({ name: 'with the password before' });

      const accepted = await acceptedCount([redis]);
      await setUser([redis], `>${NEXT_PASSWORD}`);
      await eventually('the new password', async () => (await acceptedCount([redis])) > accepted);
      await setUser([redis], `<${FIRST_PASSWORD}`);
      await killConnections([redis]);
      await reconnected();
      await client.acquire({ name: 'with the new password' });
      expect(refusals()).toHaveLength(1);
    },
  );

  test.concurrent(
    'a connection that is opened after two wrong passwords in a row uses the password before them',
    async () => {
      const { redis } = await start();
      const follows = new RedisPassword();
      await follows.use(FIRST_PASSWORD);
      const endpoint = { port: redis.port, username: SERVER_USER, follows };
      const clients = [openClient(endpoint, safeOptions(5000))];
      try {
        await eventually('the first connection', () => clients[0]?.status === 'ready');
        for (const wrong of ['wrong', 'also wrong'])
          await expect(follows.use(wrong)).rejects.toThrow('refuses');
        const later = openClient(endpoint, safeOptions(5000));
        clients.push(later);
        later.on('error', () => undefined);
        await eventually('the later connection', () => later.status === 'ready');
      } finally {
        for (const client of clients) client.disconnect();
      }
    },
  );

  test.concurrent(
    'a server that no longer gets in uses the password of the file as soon as it is there',
    async () => {
      const { redis, client, write, reconnected } = await start();
      await setUser([redis], `>${NEXT_PASSWORD}`, `<${FIRST_PASSWORD}`);
      await killConnections([redis]);
      await eventually('the refusal', async () =>
        client.acquire({ name: 'refused', waitMs: 0 }).then(
          () => false,
          () => true,
        ),
      );
      write(NEXT_PASSWORD);
      await reconnected();
      await eventuallyPasses('an acquire', async () => {
        await client.acquire({ name: 'again' });
      });
    },
  );

  test.concurrent.each(['', 'a\nb'])('a file with %j in place of one line changes nothing', async (text) => {
    const { redis, server, write, reconnected } = await start();
    write(text);
    await eventually('the warning', () =>
      server.warnings.some(({ problem }) => /must have a password, on one line/.test(String(problem))),
    );
    await killConnections([redis]);
    await reconnected();
  });
});
