import {
  allListed,
  DictionaryServer,
  entry,
  NOW,
  pageOf,
  storedOf,
} from '../../support/autocomplete/dictionary-fixture';
import { eventually } from '../../support/eventually';
import { RedisProcess, serverUrl } from '../../support/processes/redis-process';
import { TcpProxy } from '../../support/proxy/tcp-proxy';
import { MasterAndReplica } from '../../support/test-store';

const NAME = 'towns';
const PROFILE = { accents: 'kept', typos: true } as const;
const STALE = { ...NOW, maxStalenessMs: 3_600_000 };

/** The ids of all entries that the server lists, in order. */
async function idsAt({ engine }: DictionaryServer): Promise<string[]> {
  const listed = await allListed(() => engine, { dictionary: NAME, pageSize: 3 });
  return listed.map(({ entryId }) => entryId);
}

describe('a failover to a replica that lacks the last writes', () => {
  let pair: MasterAndReplica;
  let servers: DictionaryServer[];
  beforeEach(async () => {
    pair = await MasterAndReplica.start({ minReplicas: 0 });
    const open = () => DictionaryServer.open(serverUrl(pair.front.address));
    servers = [await open(), await open()];
    await first().engine.createDictionary(NAME, PROFILE);
    await first().engine.putEntries(NAME, storedOf(entry('a', 'kept'), entry('b', 'kept')));
    for (const server of servers) expect(await idsAt(server)).toEqual(['a', 'b']);
  });
  afterEach(async () => {
    await Promise.all(servers.map((server) => server.close()));
    await pair.close();
  });

  const first = () => servers[0] as DictionaryServer;
  const second = () => servers[1] as DictionaryServer;

  /** Repeats a read until the connections lead to the new master. */
  function afterFailover<T>(what: string, read: () => Promise<T>): Promise<T> {
    return eventually(what, () => read().catch(() => undefined));
  }

  it('leaves no lost entry, deletion or selection in any answer', async () => {
    await pair.freezeLink();
    await first().engine.putEntries(NAME, storedOf(entry('lost', 'lost'), entry('a', 'lost too')));
    await first().engine.deleteEntries(NAME, ['b']);
    await first().engine.recordSelection(NAME, 'a', 5);
    for (const server of servers) expect(await idsAt(server)).toEqual(['lost', 'a']);
    await pair.failOver();
    for (const server of servers) {
      const listed = await afterFailover('a list after the failover', () =>
        allListed(() => server.engine, { dictionary: NAME }),
      );
      expect(listed).toMatchObject([
        { entryId: 'a', text: 'kept', selectionCount: 0 },
        { entryId: 'b', text: 'kept', selectionCount: 0 },
      ]);
    }
  });

  it('leaves no lost entry in any answer if the new master has reached the same version by other writes', async () => {
    await pair.freezeLink();
    for (const id of ['lost 1', 'lost 2']) {
      await first().engine.putEntries(NAME, storedOf(entry(id, 'lost')));
    }
    for (const server of servers) expect(await idsAt(server)).toEqual(['a', 'b', 'lost 1', 'lost 2']);
    await pair.failOver();
    await afterFailover('the first server to reach the new master', () =>
      first()
        .engine.putEntries(NAME, storedOf(entry('c', 'new')))
        .then(() => true),
    );
    await first().engine.putEntries(NAME, storedOf(entry('d', 'new')));
    for (const server of servers) {
      expect(await afterFailover('a list after the failover', () => idsAt(server))).toEqual([
        'a',
        'b',
        'c',
        'd',
      ]);
    }
  });

  it('leaves no entry of a lost import in any answer', async () => {
    await pair.freezeLink();
    const session = await first().engine.startImport(NAME, undefined);
    await session.put(storedOf(entry('imported', 'lost')));
    await session.commit(1);
    await second().indexes.load(NAME, NOW.patienceMs);
    for (const server of servers) expect(await idsAt(server)).toEqual(['imported']);
    await pair.failOver();
    for (const server of servers) {
      expect(await afterFailover('a list after the failover', () => idsAt(server))).toEqual(['a', 'b']);
    }
  });

  it('leaves no entry of a dictionary in any answer that the replica does not have', async () => {
    await pair.freezeLink();
    await first().engine.deleteDictionary(NAME);
    await first().engine.createDictionary(NAME, { ...PROFILE, typos: false });
    await first().engine.putEntries(NAME, storedOf(entry('lost', 'lost')));
    for (const server of servers) expect(await idsAt(server)).toEqual(['lost']);
    await pair.failOver();
    for (const server of servers) {
      expect(await afterFailover('a list after the failover', () => idsAt(server))).toEqual(['a', 'b']);
      const page = await pageOf(server.engine, { dictionary: NAME, query: 'kpet' });
      expect(page.suggestions).toMatchObject([{ kind: 'typo' }, { kind: 'typo' }]);
    }
  });
});

describe('a server with a loaded dictionary', () => {
  let redis: RedisProcess;
  let proxy: TcpProxy;
  let server: DictionaryServer;
  let other: DictionaryServer;
  beforeEach(async () => {
    redis = await RedisProcess.start({ appendfsync: 'no' });
    proxy = await TcpProxy.open({ targetPort: redis.port, protocol: 'redis' });
    server = await DictionaryServer.open(serverUrl(proxy.address), { commandTimeoutMs: 500 });
    other = await DictionaryServer.open(redis.url);
    await server.engine.createDictionary(NAME, PROFILE);
    await server.engine.putEntries(NAME, storedOf(entry('a', 'kept')));
    expect(await idsAt(server)).toEqual(['a']);
  });
  afterEach(async () => {
    await Promise.all([server.close(), other.close()]);
    await proxy.close();
    await redis.close();
  });

  it('answers within max_staleness while Redis does not answer, and else STORE_UNAVAILABLE', async () => {
    proxy.blackHole('both');
    const asked = { dictionary: NAME, query: 'ke' };
    const { suggestions } = await pageOf(server.engine, { ...asked, asked: STALE });
    expect(suggestions).toMatchObject([{ entryId: 'a' }]);
    await expect(pageOf(server.engine, asked)).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
    await other.engine.putEntries(NAME, storedOf(entry('b', 'kept')));
    const stale = await pageOf(server.engine, { ...asked, asked: STALE });
    expect(stale.suggestions).toMatchObject([{ entryId: 'a' }]);
    proxy.passEverything();
    proxy.cutAll();
    const ids = await eventually('an answer of Redis', () => idsAt(server).catch(() => undefined));
    expect(ids).toEqual(['a', 'b']);
  });

  it('answers NO_SUCH_DICTIONARY after FLUSHALL, and with none of the old entries after a new creation', async () => {
    await redis.command('FLUSHALL');
    const asked = { dictionary: NAME, query: 'ke' };
    await expect(pageOf(server.engine, asked)).rejects.toMatchObject({ reason: 'NO_SUCH_DICTIONARY' });
    expect(server.indexes.stateOf(NAME)).toEqual({ loadState: 'not-loaded', memoryBytes: 0 });
    await other.engine.createDictionary(NAME, PROFILE);
    await other.engine.putEntries(NAME, storedOf(entry('b', 'kept')));
    expect(await idsAt(server)).toEqual(['b']);
  });

  it('answers with none of the old entries if the dictionary was flushed and created between two queries', async () => {
    await redis.command('FLUSHALL');
    await other.engine.createDictionary(NAME, PROFILE);
    await other.engine.putEntries(NAME, storedOf(entry('b', 'kept')));
    expect(await idsAt(server)).toEqual(['b']);
  });
});
