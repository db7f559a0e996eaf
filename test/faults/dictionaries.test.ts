import { AccentHandling } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { entriesKey } from '../../src/autocomplete/redis/entry-keys';
import { endingOf, refusal } from '../support/clients/calls';
import { eventually, eventuallyPasses } from '../support/eventually';
import type { RedisCommand } from '../support/proxy/tcp-proxy';
import { type DictionaryClient, DictionaryClients } from './dictionary-client';
import { expectNothingLeft, expectSound, generationsOf } from './dictionary-residue';
import { Fleet } from './fleet';
import { PREFIX } from './observer';
import { runsOf, type ScriptKind } from './script-commands';
import { expectContent, expectContentSoon, town, towns } from './towns';

let fleet: Fleet;
const clients = new DictionaryClients();

beforeAll(async () => {
  fleet = await Fleet.start({ redis: { appendfsync: 'no' }, members: [{ redisProxy: true }, {}] });
});

afterAll(async () => {
  clients.close();
  await fleet?.close();
});

describe('dictionary full', () => {
  const OLD = towns(100, 'old');
  const NEW = towns(400, 'new');
  const FULL = { code: 'RESOURCE_EXHAUSTED', reason: 'STORE_FULL' };

  test('a full Redis refuses writes that need memory, and still answers, commits, deletes and cleans up', async () => {
    const client = clients.at(fleet.member(0));
    for (const name of ['put', 'imported', 'committed', 'deleted']) {
      await client.create(name);
      await client.put(name, OLD);
    }
    const cut = client.startImport('imported');
    await cut.send(NEW.slice(0, 100));
    const complete = client.startImport('committed');
    await complete.send(NEW);
    const received = async (name: string): Promise<bigint> =>
      (await client.get(name)).imports[0]?.receivedCount ?? 0n;
    await eventually('both imports to be stored', async () => {
      return (await received('imported')) === 100n && (await received('committed')) === 400n;
    });

    await fleet.redis.command('CONFIG', 'SET', 'maxmemory', '1');
    const put = await refusal(client.put('put', NEW));
    expect(put).toMatchObject(FULL);
    expect(put.retryAfterMs).toBeGreaterThan(0);
    await cut.send(NEW.slice(100));
    expect(await cut.ended).toMatchObject(FULL);
    for (const refused of [
      client.create('fresh'),
      client.put('deleted', [town(1, 'new')]),
      client.select('deleted', 'town 1'),
    ]) {
      expect(await refusal(refused)).toMatchObject(FULL);
    }
    const fresh = client.startImport('fresh');
    expect(await fresh.ended).toMatchObject(FULL);

    await expectContent(client, 'imported', OLD, 'old');
    await eventually('the abandoned import to be removed', async () => {
      return (await generationsOf(fleet.redis, 'imported')).length === 1;
    });
    expect(await complete.commit()).toMatchObject({ code: 'OK' });
    await expectContent(client, 'committed', NEW, 'new');
    expect(await client.drop('deleted')).toBe(true);
    await expectNothingLeft(fleet.redis, 'deleted');
    expect(await refusal(client.suggest('deleted', 'old'))).toMatchObject({ reason: 'NO_SUCH_DICTIONARY' });
    expect(await client.remove('put', ['town 99'])).toBe(1);
    await expectContent(client, 'put', OLD.slice(0, 99), 'old');
    expect(Number(await fleet.redis.command('DBSIZE'))).toBeGreaterThan(0);

    await fleet.redis.command('CONFIG', 'SET', 'maxmemory', '0');
    // The server refuses puts until its next report of Redis.
    await eventuallyPasses('a put to succeed', () => client.put('put', NEW));
    expect(await client.import('imported', NEW)).toMatchObject({ code: 'OK' });
    for (const name of ['put', 'imported', 'committed']) {
      await expectSound(fleet.redis, client, name);
      await expectContent(client, name, NEW, 'new');
    }
    expect(await client.select('put', 'town 1')).toBe(1);
  });
});

/** The server reaches Redis through a proxy that cuts the connections of the server. */

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

describe('dictionary flushed', () => {
  /** Repeats a call until the call fails, and resolves to the reason of the failure. */
  async function untilItFails(call: () => Promise<unknown>): Promise<string | undefined> {
    for (;;) {
      try {
        await call();
      } catch (error) {
        return endingOf(error).reason;
      }
    }
  }

  test('after FLUSHALL calls answer NO_SUCH_DICTIONARY, imports end with IMPORT_CONFLICT, and dictionaries can be created again', async () => {
    const [client, other] = [clients.at(fleet.member(0)), clients.at(fleet.member(1))];
    const name = 'flushed';
    await client.create(name);
    await client.put(name, towns(200, 'old'));
    const running = other.startImport(name);
    const large = towns(200, 'put');
    let flushed = false;
    const importing = (async () => {
      for (let batch = 0; !flushed && !running.over; batch += 1)
        await running.send(towns(50, `batch ${batch}`));
      await running.send([town(1, 'late')]);
      return running.ended;
    })();
    const calls = [
      untilItFails(() => client.put(name, large)),
      untilItFails(() => other.put(name, [town(1, 'small')])),
      untilItFails(() => client.suggest(name, 'town')),
      untilItFails(() => other.list(name)),
      untilItFails(() => other.select(name, 'town 1')),
      untilItFails(() => client.remove(name, ['town 2'])),
    ];
    await eventually('the import to be under way', async () => {
      return ((await client.get(name)).imports[0]?.receivedCount ?? 0n) >= 100n;
    });

    await fleet.redis.command('FLUSHALL');
    await fleet.redis.command('SCRIPT', 'FLUSH');
    flushed = true;

    for (const reason of await Promise.all(calls)) expect(reason).toBe('NO_SUCH_DICTIONARY');
    expect(await importing).toMatchObject({ code: 'ABORTED', reason: 'IMPORT_CONFLICT' });
    await expectNothingLeft(fleet.redis, name);
    expect(await client.names('')).toEqual([]);
    expect(await client.drop(name)).toBe(false);
    expect(await refusal(client.get(name))).toMatchObject({
      code: 'NOT_FOUND',
      reason: 'NO_SUCH_DICTIONARY',
    });

    // Both servers still cache the profile of the lost dictionary. The new dictionary has another profile.
    await client.create(name, AccentHandling.ACCENT_HANDLING_DROPPED);
    for (const [index, server] of [client, other].entries()) {
      await server.put(name, [{ entryId: `résumé ${index}`, text: 'Résumé', weight: BigInt(2 - index) }]);
    }
    const { suggestions } = await other.suggest(name, 'resu');
    expect(suggestions.map(({ entryId }) => entryId)).toEqual(['résumé 0', 'résumé 1']);
    await expectSound(fleet.redis, client, name);
    expect((await client.get(name)).entryCount).toBe(2n);
    expect(await client.select(name, 'résumé 1')).toBe(1);

    const wanted = towns(200, 'new');
    expect(await other.import(name, wanted)).toMatchObject({ code: 'OK' });
    await expectContent(other, name, wanted, 'new');
    await expectContentSoon(client, name, wanted, 'new');
    await expectSound(fleet.redis, client, name);
  });
});
