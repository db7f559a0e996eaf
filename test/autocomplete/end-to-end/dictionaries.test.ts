import { HealthCheckResponse_ServingStatus as ServingStatus } from '../../../generated/typescript/grpc/health/v1/health';
import {
  AccentHandling,
  Entry,
  type ImportDictionaryRequest,
  LoadState,
  type Profile,
  TypoMatching,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { InProcessServer } from '../../end-to-end/in-process-server';
import { ServerPair } from '../../end-to-end/server-pair';
import { type AutocompleteClient, wholeEntry } from '../../support/clients/autocomplete-client';
import { health, refusal } from '../../support/clients/calls';
import { closeAll, eventually, eventuallyPasses } from '../../support/eventually';
import { RedisProcess } from '../../support/processes/redis-process';

let pair: ServerPair;
let client: AutocompleteClient;
let elsewhere: AutocompleteClient;

const batch = (...ids: string[]): ImportDictionaryRequest => {
  const entries = ids.map((id) => Entry.create({ entryId: id, text: `text ${id}` }));
  return { part: { $case: 'batch', value: { entries } } };
};
const commit = (count: number): ImportDictionaryRequest => ({
  part: { $case: 'commit', value: { entryCount: BigInt(count) } },
});

async function made(name: string, ...ids: string[]): Promise<string> {
  await client.create(name);
  await client.put(name, ...ids.map((id) => ({ entryId: id, text: `text ${id}` })));
  return name;
}

const idsOf = async (dictionary: string) =>
  (await client.list({ dictionary })).entries.map(({ entry }) => entry?.entryId);

async function received(dictionary: string, ...counts: bigint[]): Promise<void> {
  await eventually(`${counts.join(', ')} to be received`, async () => {
    const { imports = [] } = (await client.get(dictionary)) ?? {};
    return (
      imports
        .map(({ receivedCount }) => receivedCount)
        .sort()
        .join() === counts.join()
    );
  });
}

beforeAll(async () => {
  pair = await ServerPair.start();
  client = pair.first.autocomplete();
  elsewhere = pair.second.autocomplete();
});
afterAll(() => pair?.close());

describe('ImportDictionary', () => {
  test.concurrent('creates a dictionary at the commit', async () => {
    const name = 'made by import';
    const open = client.startImport(name);
    open.sendPart(batch('a', 'b'));
    expect((await refusal(elsewhere.get(name))).reason).toBe('NO_SUCH_DICTIONARY');
    open.sendPart(batch('c', 'a'));
    open.sendPart(commit(4));
    open.end();
    expect(await open.answer).toMatchObject({ name, entryCount: 3n, generation: 1n, imports: [] });
    expect(await idsOf(name)).toEqual(['a', 'b', 'c']);
  });

  test.concurrent('answers IMPORT_CONFLICT to the second commit of two concurrent imports', async () => {
    const name = await made('two imports', 'old', 'both');
    await client.select(name, 'both', 7);
    const [first, second] = [client.startImport(name), elsewhere.startImport(name)];
    first.sendPart(batch('both', 'of first'));
    second.sendPart(batch('both'));
    await received(name, 1n, 2n);
    expect(await client.select(name, 'both')).toBe(8n);
    first.sendPart(commit(2));
    first.end();
    expect(await first.answer).toMatchObject({ entryCount: 2n, generation: 2n, imports: [] });
    second.sendPart(batch('of second'));
    second.sendPart(commit(2));
    second.end();
    expect(await refusal(second.answer)).toMatchObject({ code: 'ABORTED', reason: 'IMPORT_CONFLICT' });
    expect(await client.get(name)).toMatchObject({ entryCount: 2n, generation: 2n, imports: [] });
    expect(await idsOf(name)).toEqual(['both', 'of first']);
    expect(await elsewhere.select(name, 'both')).toBe(9n);
  });

  test.concurrent('keeps the puts and deletions that happened during the import', async () => {
    const name = await made('changed meanwhile', 'kept', 'deleted', 'put');
    const open = client.startImport(name);
    open.sendPart(batch('kept', 'deleted'));
    await received(name, 2n);
    await elsewhere.delete(name, 'deleted', 'later');
    await elsewhere.put(name, { entryId: 'put', text: 'put meanwhile' });
    open.sendPart(batch('deleted', 'put', 'later'));
    open.sendPart(commit(5));
    open.end();
    expect(await open.answer).toMatchObject({ entryCount: 2n, generation: 2n });
    const { entries } = await client.list({ dictionary: name });
    expect(entries.map(({ entry }) => entry?.text)).toEqual(['put meanwhile', 'text kept']);
  });

  test.concurrent('changes nothing after a cancellation, an early end or a wrong count', async () => {
    const name = await made('unfinished', 'old');
    const cancelled = client.startImport(name);
    cancelled.sendPart(batch('a'));
    await received(name, 1n);
    cancelled.cancel();
    expect((await refusal(cancelled.answer)).code).toBe('CANCELLED');
    const early = client.startImport(name);
    early.sendPart(batch('b'));
    early.end();
    expect(await refusal(early.answer)).toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'INVALID_FIELD' });
    const miscounted = client.startImport(name);
    miscounted.sendPart(batch('c'));
    miscounted.sendPart(commit(2));
    miscounted.end();
    expect(await refusal(miscounted.answer)).toMatchObject({
      code: 'INVALID_ARGUMENT',
      reason: 'INVALID_FIELD',
    });
    await eventuallyPasses('nothing to be left of them', async () => {
      expect(await client.get(name)).toMatchObject({ entryCount: 1n, generation: 1n, imports: [] });
    });
    expect(await idsOf(name)).toEqual(['old']);
  });

  test.concurrent('ends with IMPORT_CONFLICT when its dictionary is deleted meanwhile', async () => {
    const name = await made('deleted meanwhile', 'old');
    const open = client.startImport(name);
    open.sendPart(batch('a'));
    await received(name, 1n);
    await elsewhere.call(elsewhere.stub.deleteDictionary, { dictionary: name });
    open.sendPart(commit(1));
    open.end();
    expect((await refusal(open.answer)).reason).toBe('IMPORT_CONFLICT');
    expect((await refusal(client.get(name))).reason).toBe('NO_SUCH_DICTIONARY');
  });
});

const KEPT: Profile = {
  accents: AccentHandling.ACCENT_HANDLING_KEPT,
  typoMatching: TypoMatching.TYPO_MATCHING_ON,
};
const DROPPED: Profile = { ...KEPT, accents: AccentHandling.ACCENT_HANDLING_DROPPED };
const EXISTS = { code: 'ALREADY_EXISTS', reason: 'DICTIONARY_EXISTS' };

const create = (from: AutocompleteClient, dictionary: string, profile: Profile | undefined) =>
  from.call(from.stub.createDictionary, { dictionary, profile });

describe('the profile of a dictionary', () => {
  test.concurrent(
    'is never changed by CreateDictionary, which answers DICTIONARY_EXISTS to another profile',
    async () => {
      const name = 'created';
      await create(client, name, DROPPED);
      await client.put(name, { entryId: 'a', text: 'é' });
      for (const other of [KEPT, { ...DROPPED, typoMatching: TypoMatching.TYPO_MATCHING_OFF }, undefined]) {
        expect(await refusal(create(elsewhere, name, other))).toMatchObject(EXISTS);
      }
      expect((await create(elsewhere, name, DROPPED)).dictionary).toMatchObject({
        entryCount: 1n,
        profile: DROPPED,
      });
      expect(await client.texts({ dictionary: name, query: 'e' })).toEqual(['é']);
    },
  );

  test.concurrent(
    'is never changed by ImportDictionary, which answers DICTIONARY_EXISTS to another profile',
    async () => {
      const name = 'imported';
      await create(client, name, DROPPED);
      await client.put(name, { entryId: 'a', text: 'é' });
      expect(await refusal(elsewhere.startImport(name, KEPT).answer)).toMatchObject(EXISTS);
      expect(await client.get(name)).toMatchObject({ entryCount: 1n, generation: 1n, imports: [] });
      for (const same of [DROPPED, undefined]) {
        const open = elsewhere.startImport(name, same);
        open.sendPart({ part: { $case: 'commit', value: { entryCount: 0n } } });
        open.end();
        expect(await open.answer).toMatchObject({ entryCount: 0n, profile: DROPPED });
      }
    },
  );
});

describe('dictionary memory', () => {
  /** The least memory that the setting allows. */
  const MEMORY_BYTES = 16 * 2 ** 20;
  const MEMORY = { HOLDFAST_DICTIONARY_MEMORY: '16MiB' };
  /** The payloads alone need more than `MEMORY_BYTES`. */
  const LARGE = 'large';
  const LARGE_COUNT = 17_000;
  /** Enough for the load of the large dictionary. */
  const MUCH_MEMORY = { HOLDFAST_DICTIONARY_MEMORY: '1GiB' };
  const SMALL = 'small, 100%';

  let redis: RedisProcess;
  let writer: InProcessServer;

  beforeAll(async () => {
    redis = await RedisProcess.start({ inMemory: true });
    writer = await InProcessServer.start(redis.url, MUCH_MEMORY);
    client = writer.autocomplete();
    await importLarge(client, LARGE);
    await client.create(SMALL);
    await client.put(SMALL, { entryId: '1', text: 'aa' }, { entryId: '2', text: 'ab' });
  });

  afterAll(() =>
    closeAll(
      () => writer?.close(),
      () => redis?.close(),
    ),
  );

  async function importLarge(into: AutocompleteClient, name: string): Promise<void> {
    const payload = Buffer.alloc(1024, 7);
    const texts = Array.from({ length: LARGE_COUNT }, (_, at) => `entry ${at}`);
    const running = into.startImport(name);
    await running.send(
      texts.map((text) => wholeEntry({ entryId: text, text, payload })),
      1000,
    );
    expect(await running.commit()).toMatchObject({ code: 'OK' });
  }

  /** Runs with another server, and closes the server. */
  async function withServer(
    env: Readonly<Record<string, string>>,
    use: (client: AutocompleteClient, server: InProcessServer) => Promise<void>,
  ): Promise<void> {
    const server = await InProcessServer.start(redis.url, env);
    try {
      await use(server.autocomplete(), server);
    } finally {
      await server.close();
    }
  }

  /** The warnings that the server has logged so far. The test expects them, so they are removed. */
  const warningsOf = (server: InProcessServer) =>
    server.warnings.splice(0).map(({ msg, dictionary }) => ({ msg, dictionary }));

  const isServing = (server: InProcessServer): Promise<void> =>
    eventuallyPasses('the end of the preload', async () => {
      expect(await health(server.address)).toBe(ServingStatus.SERVING);
    });

  const NOT_PRELOADED = 'the dictionary was not preloaded';

  describe('HOLDFAST_DICTIONARY_MEMORY', () => {
    test('answers QUOTA_EXCEEDED for a dictionary that does not fit, and serves the other dictionaries', async () => {
      await withServer(MEMORY, async (small) => {
        expect(await small.texts({ dictionary: SMALL, query: 'a' })).toEqual(['aa', 'ab']);
        for (const call of [
          small.texts({ dictionary: LARGE, query: 'entry' }),
          small.list({ dictionary: LARGE }),
        ]) {
          const ending = await refusal(call);
          expect(ending).toMatchObject({
            code: 'RESOURCE_EXHAUSTED',
            reason: 'QUOTA_EXCEEDED',
            metadata: { limit: String(MEMORY_BYTES) },
          });
          expect(ending.text).toMatch(
            /^dictionary "large" needs at least \d{8,} bytes of memory to be loaded, and this server may use 16777216 bytes for all dictionaries; raise HOLDFAST_DICTIONARY_MEMORY /,
          );
        }
        expect(await small.get(LARGE)).toMatchObject({
          loadState: LoadState.LOAD_STATE_FAILED,
          serverMemoryBytes: 0n,
          entryCount: BigInt(LARGE_COUNT),
        });
        // The attempts to load the large dictionary did not unload the small dictionary.
        expect((await small.get(SMALL))?.loadState).toBe(LoadState.LOAD_STATE_READY);
        expect(await small.texts({ dictionary: SMALL, query: 'a' })).toEqual(['aa', 'ab']);
        expect((await client.get(LARGE))?.loadState).toBe(LoadState.LOAD_STATE_READY);
      });
    });

    test('does not limit writes, because writes need no index', async () => {
      await withServer(MEMORY, async (small) => {
        const entryId = 'written without an index';
        await small.put(LARGE, { entryId, text: entryId });
        expect(await small.select(LARGE, entryId)).toBe(1n);
        expect(await client.texts({ dictionary: LARGE, query: entryId })).toEqual([entryId]);
        expect(await small.delete(LARGE, entryId)).toBe(1);
        expect(await client.texts({ dictionary: LARGE, query: entryId })).toEqual([]);
      });
    });

    test('lets an import end with OK even if its entries do not fit into the memory', async () => {
      await withServer(MEMORY, async (small) => {
        await importLarge(small, 'too large');
        expect((await refusal(small.texts({ dictionary: 'too large', query: 'e' }))).reason).toBe(
          'QUOTA_EXCEEDED',
        );
        const query = `entry ${LARGE_COUNT - 1}`;
        expect(await client.texts({ dictionary: 'too large', query, pageSize: 1 })).toEqual([query]);
      });
    });
  });

  describe('HOLDFAST_PRELOAD', () => {
    test('loads its dictionaries before the server is ready', async () => {
      const preload = [LARGE, SMALL].map((name) => encodeURIComponent(name)).join(',');
      await withServer({ ...MUCH_MEMORY, HOLDFAST_PRELOAD: preload }, async (other, server) => {
        await isServing(server);
        for (const name of [LARGE, SMALL]) {
          expect((await other.get(name))?.loadState).toBe(LoadState.LOAD_STATE_READY);
        }
        // A loaded dictionary answers a query with an old view without any check of the store.
        const maxStaleness = { seconds: 3600n, nanos: 0 };
        expect(await other.texts({ dictionary: SMALL, query: 'a', maxStaleness })).toEqual(['aa', 'ab']);
      });
    });

    test('leaves out a dictionary that does not exist, with a warning', async () => {
      await withServer({ HOLDFAST_PRELOAD: 'nobody made,small%2C 100%25' }, async (other, server) => {
        await isServing(server);
        expect(warningsOf(server)).toEqual([{ msg: NOT_PRELOADED, dictionary: 'nobody made' }]);
        expect((await other.get(SMALL))?.loadState).toBe(LoadState.LOAD_STATE_READY);
        await other.create('nobody made');
        expect(await other.texts({ dictionary: 'nobody made', query: '' })).toEqual([]);
      });
    });

    test('leaves out a dictionary that does not fit into the memory, with a warning', async () => {
      await withServer({ ...MEMORY, HOLDFAST_PRELOAD: LARGE }, async (other, server) => {
        await isServing(server);
        expect(warningsOf(server)).toEqual([{ msg: NOT_PRELOADED, dictionary: LARGE }]);
        expect((await other.get(LARGE))?.loadState).toBe(LoadState.LOAD_STATE_FAILED);
      });
    });
  });
});
