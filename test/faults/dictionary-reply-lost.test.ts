import { entriesKey } from '../../src/autocomplete/redis/entry-keys';
import type { RedisCommand } from '../support/proxy/tcp-proxy';
import { DictionaryClients, type DictionaryClient } from './dictionary-client';
import { expectNothingLeft, expectSound } from './dictionary-residue';
import { Fleet } from './fleet';
import { PREFIX } from './observer';
import { runsOf, type ScriptKind } from './script-commands';
import { expectContent, towns } from './towns';

/** The server reaches Redis through a proxy that cuts the connections of the server. */
let fleet: Fleet;
const clients = new DictionaryClients();

beforeAll(async () => {
  fleet = await Fleet.start({ redis: { appendfsync: 'no' }, members: [{ redisProxy: true }] });
});

afterAll(async () => {
  clients.close();
  await fleet?.close();
});

/** The lost message: the reply of a command that Redis has run, or the command itself. */
const WAYS = ['reply', 'request'] as const;
type Way = (typeof WAYS)[number];

/** Loses the n-th command of a kind for this dictionary. Default: the first command. */
function lose(way: Way, kind: ScriptKind, name: string, number = 1): Promise<unknown> {
  const { redisProxy } = fleet.member(0);
  const isOne = runsOf(kind, entriesKey(PREFIX, name));
  let count = 0;
  const matches = (command: RedisCommand): boolean => {
    if (isOne(command)) count += 1;
    return isOne(command) && count === number;
  };
  return way === 'reply' ? redisProxy.dropNextReply(matches) : redisProxy.dropNextRequest(matches);
}

interface Stage {
  readonly client: DictionaryClient;
  readonly name: string;
  readonly lost: (kind: ScriptKind, number?: number) => Promise<unknown>;
}

const OLD = towns(60, 'old');
const NEW = towns(150, 'new');
/** More entries than the first script of a load reads. */
const MANY = towns(1200, 'old');

/** Changes of a dictionary with the old towns. Each must have the same result if one of its commands is lost. */
const ACTS: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  'put of a few entries': async ({ client, name, lost }) => {
    const trap = lost('dictionary put');
    await client.put(name, OLD.slice(0, 20));
    await trap;
    await expectContent(client, name, OLD, 'old');
  },
  'put of many entries, at its commit': async ({ client, name, lost }) => {
    const trap = lost('dictionary put staged');
    await client.put(name, NEW);
    await trap;
    await expectContent(client, name, NEW, 'new');
  },
  'put of many entries, after its commit': async ({ client, name, lost }) => {
    const trap = lost('dictionary finish');
    await client.put(name, NEW);
    await trap;
    await expectContent(client, name, NEW, 'new');
  },
  'deletion of entries': async ({ client, name, lost }) => {
    const trap = lost('dictionary delete');
    const ids = OLD.slice(0, 20).map(({ entryId }) => entryId);
    expect(await client.remove(name, ids)).toBe(20);
    await trap;
    await expectContent(client, name, OLD.slice(20), 'old');
  },
  selection: async ({ client, name, lost }) => {
    const trap = lost('dictionary select');
    expect(await client.select(name, 'town 7', 3)).toBe(3);
    await trap;
    expect(await client.select(name, 'town 7')).toBe(4);
  },
  'creation of an existing dictionary': async ({ client, name, lost }) => {
    const trap = lost('dictionary create');
    await client.create(name);
    await trap;
    await expectContent(client, name, OLD, 'old');
  },
  'start of an import': async ({ client, name, lost }) => {
    const trap = lost('dictionary start import');
    expect(await client.import(name, NEW)).toMatchObject({ code: 'OK' });
    await trap;
    await expectContent(client, name, NEW, 'new');
  },
  'batch of an import': async ({ client, name, lost }) => {
    const trap = lost('dictionary import batch', 2);
    expect(await client.import(name, NEW)).toMatchObject({ code: 'OK' });
    await trap;
    await expectContent(client, name, NEW, 'new');
  },
  'commit of an import': async ({ client, name, lost }) => {
    const trap = lost('dictionary commit');
    expect(await client.import(name, NEW)).toMatchObject({ code: 'OK' });
    await trap;
    await expectContent(client, name, NEW, 'new');
    expect((await client.get(name)).generation).toBe(2n);
  },
  'start of a load': async ({ client, name, lost }) => {
    const trap = lost('dictionary start load');
    await expectContent(client, name, OLD, 'old');
    await trap;
  },
  'load of the buckets': async ({ client, name, lost }) => {
    for (const half of [MANY.slice(0, 600), MANY.slice(600)]) await client.put(name, half);
    const trap = lost('dictionary read buckets');
    await expectContent(client, name, MANY, 'old');
    await trap;
  },
};

async function withOldTowns(name: string): Promise<DictionaryClient> {
  const client = clients.at(fleet.member(0));
  await client.create(name);
  await client.put(name, OLD);
  return client;
}

describe('the loss of a connection with its command or reply', () => {
  test.each(Object.entries(ACTS))('does not change the result of a %s', async (title, act) => {
    for (const way of WAYS) {
      const name = `${title}, ${way}`;
      const client = await withOldTowns(name);
      await act({ client, name, lost: (kind, number) => lose(way, kind, name, number) });
      await expectSound(fleet.redis, client, name);
    }
  });

  test('does not change the result of an abandoned import or a deletion of a dictionary', async () => {
    for (const way of WAYS) {
      const name = `left, ${way}`;
      const client = await withOldTowns(name);
      const abandoned = lose(way, 'dictionary abandon', name);
      const running = client.startImport(name);
      await running.send(NEW);
      running.end();
      expect(await running.ended).toMatchObject({ reason: 'INVALID_FIELD' });
      await abandoned;
      await expectSound(fleet.redis, client, name);
      const dropped = lose(way, 'dictionary drop', name);
      await client.drop(name);
      await dropped;
      await expectNothingLeft(fleet.redis, name);
    }
  });
});
