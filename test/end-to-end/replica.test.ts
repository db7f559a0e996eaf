import { closeAll } from '../support/close-all';
import type { AutocompleteClient } from '../support/clients/autocomplete-client';
import { eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { InProcessServer } from './in-process-server';

describe('a replica for queries', () => {
  const DICTIONARY = 'replicated';
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
      HOLDFAST_COMMAND_TIMEOUT: '500ms',
    });
    client = server.autocomplete();
    await client.create(DICTIONARY);
    await put('aa', 'ab');
    await eventually('an answer of the replica', async () => {
      const before = await scriptCount(replica);
      await suggest().catch(() => undefined);
      return (await scriptCount(replica)) > before;
    });
  });
  afterAll(async () => {
    // The server warns when the replica disconnects. The warning is correct here.
    server?.warnings.splice(0);
    await closeAll(
      () => server?.close(),
      () => replica?.close(),
      () => primary?.close(),
    );
  });

  const info = async (redis: RedisProcess) => String(await redis.command('INFO', 'replication'));

  /** The number of scripts that clients ran on this node. Replicated commands do not count. */
  async function scriptCount(redis: RedisProcess): Promise<number> {
    const stats = String(await redis.command('INFO', 'commandstats'));
    const calls = [...stats.matchAll(/^cmdstat_evalsha(?:_ro)?:calls=(\d+)/gm)].map(([, count]) =>
      Number(count),
    );
    return calls.reduce((sum, count) => sum + count, 0);
  }

  const put = (...texts: string[]) =>
    client.put(DICTIONARY, ...texts.map((text) => ({ entryId: text, text })));
  const suggest = () => client.texts({ dictionary: DICTIONARY, query: 'a' });
  const caughtUp = (expected: string[]) =>
    eventually('the replicated entries', async () => String(await suggest()) === String(expected));

  it('serves Suggest and ListEntries, and none of the calls that write', async () => {
    await caughtUp(['aa', 'ab']);
    const before = await scriptCount(replica);
    for (let time = 0; time < 10; time += 1) expect(await suggest()).toEqual(['aa', 'ab']);
    expect(await scriptCount(replica)).toBe(before + 10);
    expect((await client.list({ dictionary: DICTIONARY })).entries).toHaveLength(2);
    expect(await scriptCount(replica)).toBe(before + 11);
    await put('ac');
    expect(await client.select(DICTIONARY, 'ac')).toBe(1n);
    expect((await client.get(DICTIONARY))?.entryCount).toBe(3n);
    expect(await scriptCount(replica)).toBe(before + 11);
    await caughtUp(['ac', 'aa', 'ab']);
  });

  it('is not used while the replica is paused or killed: the primary answers the queries', async () => {
    await replica.stop();
    expect(await suggest()).toEqual(['ac', 'aa', 'ab']);
    // The new entry is only on the primary.
    await put('ad');
    expect(await suggest()).toEqual(['ac', 'aa', 'ab', 'ad']);
    await replica.cont();
    await replica.kill();
    expect(await suggest()).toEqual(['ac', 'aa', 'ab', 'ad']);
    await put('ae');
    expect(await suggest()).toEqual(['ac', 'aa', 'ab', 'ad', 'ae']);
    await replica.restart();
    await eventually('a query to the replica', async () => {
      const before = await scriptCount(replica);
      const found = await suggest();
      // The replica has old entries until its replication works again.
      return String(found) === 'ac,aa,ab,ad,ae' && (await scriptCount(replica)) > before;
    });
  });
});
