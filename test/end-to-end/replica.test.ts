import { closeAll, eventually } from '../support/eventually';
import type { AutocompleteClient } from '../support/clients/autocomplete-client';
import { RedisProcess } from '../support/processes/redis-process';
import { InProcessServer } from './in-process-server';

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

  /** The number of scripts that clients ran on this node. Replicated commands do not count. */
  async function readCount(redis: RedisProcess): Promise<number> {
    const stats = String(await redis.command('INFO', 'commandstats'));
    const calls = [...stats.matchAll(/^cmdstat_evalsha(?:_ro)?:calls=(\d+)/gm)].map(([, count]) =>
      Number(count),
    );
    return calls.reduce((sum, count) => sum + count, 0);
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
