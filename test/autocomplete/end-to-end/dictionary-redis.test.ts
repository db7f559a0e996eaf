import { Metadata } from '@grpc/grpc-js';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '../../../generated/typescript/grpc/health/v1/health';
import { LoadState, SuggestRequest } from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { InProcessServer } from '../../end-to-end/in-process-server';
import type { AutocompleteClient } from '../../support/clients/autocomplete-client';
import { type Ending, health, promised, refusal } from '../../support/clients/calls';
import { closeAll, eventually, eventuallyPasses } from '../../support/eventually';
import { RedisProcess } from '../../support/processes/redis-process';
import { TcpProxy } from '../../support/proxy/tcp-proxy';

const HOUR = { seconds: 3600n, nanos: 0 };

let leases: RedisProcess;
let dictionaries: RedisProcess;

beforeAll(async () => {
  [leases, dictionaries] = await Promise.all([RedisProcess.start(), RedisProcess.start()]);
});
afterAll(() =>
  closeAll(
    () => leases?.close(),
    () => dictionaries?.close(),
  ),
);

const start = (env: Readonly<Record<string, string>> = {}) =>
  InProcessServer.start(leases.url, { HOLDFAST_DICTIONARY_REDIS_URL: dictionaries.url, ...env });

/** Runs with a server, and closes the server. */
async function withServer(
  env: Readonly<Record<string, string>>,
  use: (server: InProcessServer, client: AutocompleteClient) => Promise<void>,
): Promise<void> {
  const server = await start(env);
  try {
    await use(server, server.autocomplete());
  } finally {
    await server.close();
  }
}

/** Creates a dictionary with these texts. The id of an entry is its text. */
async function dictionary(client: AutocompleteClient, name: string, ...texts: string[]): Promise<string> {
  await client.create(name);
  await client.put(name, ...texts.map((text) => ({ entryId: text, text })));
  return name;
}

/** The ending of a query with a deadline that comes before the end of the load. */
const impatient = (client: AutocompleteClient, dictionary: string): Promise<Ending> =>
  refusal(
    promised((done) => {
      const options = { deadline: Date.now() + 1500 };
      client.stub.suggest(SuggestRequest.create({ dictionary, query: 'a' }), new Metadata(), options, done);
    }),
  );

describe('a Redis of their own for dictionaries', () => {
  test('has the dictionaries, and the other Redis has leases and recents', async () => {
    await withServer({}, async (server, client) => {
      const name = await dictionary(client, 'apart', 'aa', 'ab');
      await client.addRecent({ list: 'of apart', text: 'ac' });
      await server.client().acquire({ name: 'a lock', ttlMs: 20_000 });
      const asked = { dictionary: name, query: 'a', recentsList: 'of apart' };
      expect(await client.texts(asked)).toEqual(['ac', 'aa', 'ab']);
      const keys = async (redis: RedisProcess) => ((await redis.command('KEYS', '*')) as string[]).join('\n');
      const [ofLeases, ofDictionaries] = [await keys(leases), await keys(dictionaries)];
      expect(ofLeases).toContain('a lock');
      expect(ofLeases).toContain('of apart');
      expect(ofDictionaries).toMatch(/apart$/m);
      expect(ofDictionaries).not.toMatch(/a lock|of apart/);
      expect(ofLeases.replaceAll('of apart', '')).not.toContain('apart');
      expect(ofLeases).not.toContain('dictionaries');
    });
  });

  test('lets a server serve leases and answer DICTIONARY_LOADING while it loads HOLDFAST_PRELOAD', async () => {
    let name = '';
    await withServer({}, async (_, client) => {
      name = await dictionary(client, 'loaded at the start', 'aa', 'ab');
    });
    // The first command for the dictionary and all later ones stay on their way, so the load takes as long as the test.
    let isReleased = false;
    const proxy = await TcpProxy.open({ targetPort: dictionaries.port, protocol: 'redis' });
    proxy.on('command', ({ args }) => {
      if (!isReleased && args.some((arg) => arg.includes(name))) proxy.blackHole('toTarget');
    });
    const server = await start({
      HOLDFAST_DICTIONARY_REDIS_URL: `redis://${proxy.address}`,
      HOLDFAST_PRELOAD: name,
      HOLDFAST_ADMIN_LISTEN: '127.0.0.1:0',
      HOLDFAST_COMMAND_TIMEOUT: '60s',
    });
    try {
      const client = server.autocomplete();
      const states = () =>
        Promise.all(
          ['', 'holdfast.v1.AutocompleteService', 'holdfast.v1.LockService', 'holdfast.grants'].map(
            (service) => health(server.address, service),
          ),
        );
      const { SERVING, NOT_SERVING } = ServingStatus;
      const page = async (path: string) => (await fetch(`http://${server.adminAddress}${path}`)).status;
      expect(await states()).toEqual([NOT_SERVING, NOT_SERVING, SERVING, SERVING]);
      expect([await page('/livez'), await page('/readyz')]).toEqual([200, 503]);
      const lock = await server.client().acquire({ name: 'while loading', ttlMs: 20_000 });
      await server.client().release(lock.leaseId);
      await eventuallyPasses(
        'an answer before the deadline, which may be late on a busy machine',
        async () => {
          expect(await impatient(client, name)).toMatchObject({
            code: 'UNAVAILABLE',
            reason: 'DICTIONARY_LOADING',
          });
        },
      );
      expect(await states()).toEqual([NOT_SERVING, NOT_SERVING, SERVING, SERVING]);
      isReleased = true;
      proxy.passEverything();
      await eventuallyPasses('the server is ready', async () => {
        expect(await states()).toEqual([SERVING, SERVING, SERVING, SERVING]);
      });
      expect(await page('/readyz')).toBe(200);
      expect((await client.get(name))?.loadState).toBe(LoadState.LOAD_STATE_READY);
    } finally {
      proxy.passEverything();
      await server.close();
      await proxy.close();
    }
  });

  test('does not delay the end of a server that loads HOLDFAST_PRELOAD', async () => {
    await dictionaries.stop();
    try {
      const server = await start({ HOLDFAST_PRELOAD: 'a,b,c' });
      await server.close();
    } finally {
      await dictionaries.cont();
    }
  });

  test('fails only the calls for dictionaries while it is down, and the server stays SERVING', async () => {
    await withServer({ HOLDFAST_COMMAND_TIMEOUT: '2s' }, async (server, client) => {
      const name = await dictionary(client, 'lost for a while', 'aa', 'ab');
      const asked = { dictionary: name, query: 'a' };
      expect(await client.texts(asked)).toEqual(['aa', 'ab']);
      await dictionaries.kill();
      try {
        const allNames = { namePrefix: '', pageSize: 0, pageToken: '' };
        for (const read of [
          client.texts(asked),
          client.list({ dictionary: name }),
          client.get(name),
          client.call(client.stub.listDictionaries, allNames),
        ]) {
          expect(await refusal(read)).toMatchObject({ code: 'UNAVAILABLE', reason: 'STORE_UNAVAILABLE' });
        }
        for (const write of [
          client.put(name, { entryId: 'ac', text: 'ac' }),
          client.create('never made'),
          client.startImport(name).answer,
        ]) {
          const ending = await refusal(write);
          expect(ending.code).toBe('UNAVAILABLE');
          expect(['STORE_UNAVAILABLE', 'OUTCOME_UNKNOWN']).toContain(ending.reason);
        }
        // An answer may be an hour old, so the query needs no Redis.
        expect(await client.texts({ ...asked, maxStaleness: HOUR })).toEqual(['aa', 'ab']);
        await client.addRecent({ list: 'of lost', text: 'ad' });
        expect(await client.recents({ list: 'of lost' })).toEqual(['ad']);
        const lock = await server.client().acquire({ name: 'while lost', ttlMs: 20_000 });
        await server.client().release(lock.leaseId);
        expect(await health(server.address)).toBe(ServingStatus.SERVING);
      } finally {
        await dictionaries.restart();
      }
      await eventuallyPasses('the dictionary to be back', async () => {
        expect(await client.texts(asked)).toEqual(['aa', 'ab']);
      });
      await client.put(name, { entryId: 'ae', text: 'ae' });
      expect(await client.texts(asked)).toEqual(['aa', 'ab', 'ae']);
    });
  });

  test('may be down when the server starts: the server is SERVING, and answers for dictionaries later', async () => {
    await withServer({}, async (_server, client) => {
      await dictionary(client, 'made before', 'aa');
    });
    await dictionaries.kill();
    const server = await start({ HOLDFAST_COMMAND_TIMEOUT: '2s' }).finally(() => dictionaries.restart());
    try {
      expect(await health(server.address)).toBe(ServingStatus.SERVING);
      const client = server.autocomplete();
      await eventuallyPasses('the dictionary', async () => {
        expect(await client.texts({ dictionary: 'made before', query: 'a' })).toEqual(['aa']);
      });
    } finally {
      await server.close();
    }
  });

  test('continues a load whose query could not wait: the query answers DICTIONARY_LOADING', async () => {
    await withServer({}, async (_server, client) => {
      let count = 0;
      // On a busy machine the answer may come after the deadline.
      const name = await eventually('an answer before the deadline', async () => {
        const next = await dictionary(client, `slow load ${(count += 1)}`, 'aa');
        await dictionaries.stop();
        const ending = await impatient(client, next).finally(() => dictionaries.cont());
        if (ending.code === 'DEADLINE_EXCEEDED') return undefined;
        expect(ending).toMatchObject({ code: 'UNAVAILABLE', reason: 'DICTIONARY_LOADING' });
        // The delay is the time of the load so far, within its bounds.
        const { retryAfterMs, pushback } = ending;
        expect(retryAfterMs).toBeGreaterThanOrEqual(100);
        expect(retryAfterMs).toBeLessThanOrEqual(10_000);
        expect(pushback).toBe(String(retryAfterMs));
        return next;
      });
      await eventually('the load', async () => {
        return (await client.get(name))?.loadState === LoadState.LOAD_STATE_READY;
      });
      expect(await client.texts({ dictionary: name, query: 'a' })).toEqual(['aa']);
    });
  });
});
