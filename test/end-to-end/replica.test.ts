import type { AutocompleteClient } from '../support/clients/autocomplete-client';
import { eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { InProcessServer } from './in-process-server';

describe('a replica that answers queries', () => {
  const DICTIONARY = 'replicated';
  let primary: RedisProcess;
  let replica: RedisProcess;
  let server: InProcessServer;
  let client: AutocompleteClient;
  beforeAll(async () => {
    // Whoever wants to follow need not wait for others who might.
    primary = await RedisProcess.start({ args: ['--repl-diskless-sync-delay', '0'] });
    replica = await RedisProcess.start({ args: ['--replicaof', '127.0.0.1', String(primary.port)] });
    await eventually('the replica to follow', async () =>
      /^master_link_status:up/m.test(await info(replica)),
    );
    server = await InProcessServer.start(primary.url, {
      HOLDFAST_REDIS_REPLICA_URL: replica.url,
      HOLDFAST_COMMAND_TIMEOUT: '500ms',
    });
    client = server.autocomplete();
    await client.create(DICTIONARY);
    await put('aa', 'ab');
    await eventually('the replica to answer', async () => {
      const before = await asked(replica);
      await suggest().catch(() => undefined);
      return (await asked(replica)) > before;
    });
  }, 30_000);
  afterAll(async () => {
    // That the replica went away is nothing that a server could leave unsaid.
    server?.complaints.splice(0);
    await server?.close();
    await replica?.close();
    await primary?.close();
  });

  const info = async (redis: RedisProcess) => String(await redis.command('INFO', 'replication'));

  /** How many scripts it was asked to run itself; what it is told by its primary is none. */
  async function asked(redis: RedisProcess): Promise<number> {
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
    eventually('the replica to have what was put', async () => String(await suggest()) === String(expected));

  it('is asked by Suggest and ListEntries, and by nothing that changes something', async () => {
    await caughtUp(['aa', 'ab']);
    const before = await asked(replica);
    for (let time = 0; time < 10; time += 1) expect(await suggest()).toEqual(['aa', 'ab']);
    expect(await asked(replica)).toBe(before + 10);
    expect((await client.list({ dictionary: DICTIONARY })).entries).toHaveLength(2);
    expect(await asked(replica)).toBe(before + 11);
    await put('ac');
    expect(await client.select(DICTIONARY, 'ac')).toBe(1n);
    expect((await client.get(DICTIONARY))?.entryCount).toBe(3n);
    expect(await asked(replica)).toBe(before + 11);
    await caughtUp(['ac', 'aa', 'ab']);
  });

  it('is stood in for by the primary while it does not answer, and while it is gone', async () => {
    await replica.stop();
    expect(await suggest()).toEqual(['ac', 'aa', 'ab']);
    // What was put just now only the primary has.
    await put('ad');
    expect(await suggest()).toEqual(['ac', 'aa', 'ab', 'ad']);
    await replica.cont();
    await replica.kill();
    expect(await suggest()).toEqual(['ac', 'aa', 'ab', 'ad']);
    await put('ae');
    expect(await suggest()).toEqual(['ac', 'aa', 'ab', 'ad', 'ae']);
    await replica.restart();
    await eventually('the replica to be asked again', async () => {
      const before = await asked(replica);
      const found = await suggest();
      // Until it follows again it is behind.
      return String(found) === 'ac,aa,ab,ad,ae' && (await asked(replica)) > before;
    });
  }, 30_000);
});
