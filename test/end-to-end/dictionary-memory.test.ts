import { HealthCheckResponse_ServingStatus as ServingStatus } from '../../generated/typescript/grpc/health/v1/health';
import { LoadState } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { type AutocompleteClient, wholeEntry } from '../support/clients/autocomplete-client';
import { health, refusal } from '../support/clients/calls';
import { closeAll, eventuallyPasses } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { InProcessServer } from './in-process-server';

/** The least memory that the setting allows. */
const MEMORY_BYTES = 16 * 2 ** 20;
const MEMORY = { HOLDFAST_DICTIONARY_MEMORY: '16MiB' };
/** The payloads of the dictionary alone need more than `MEMORY_BYTES`. */
const LARGE = 'large';
const LARGE_COUNT = 18_000;
/** Enough for the load of the large dictionary. */
const MUCH_MEMORY = { HOLDFAST_DICTIONARY_MEMORY: '1GiB' };
const SMALL = 'small, 100%';

let redis: RedisProcess;
let writer: InProcessServer;
let client: AutocompleteClient;

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
