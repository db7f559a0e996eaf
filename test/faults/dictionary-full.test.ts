import { eventually } from '../support/eventually';
import { refusal } from '../support/clients/call-ending';
import { DictionaryClients } from './dictionary-client';
import { expectNothingLeft, expectSound, generationsOf } from './dictionary-residue';
import { Fleet } from './fleet';
import { runsOf } from './script-commands';
import { contentOf, expectContent, town, towns } from './towns';

let fleet: Fleet;
const clients = new DictionaryClients();

beforeAll(async () => {
  fleet = await Fleet.start({ redis: { appendfsync: 'no' }, members: [{}, { redisProxy: true }] });
});

afterAll(async () => {
  clients.close();
  await fleet?.close();
});

const OLD = towns(100, 'old');
const NEW = towns(400, 'new');
const FULL = { code: 'RESOURCE_EXHAUSTED', reason: 'STORE_FULL' };

/** Fills the memory of Redis before the third script of the next change. */
async function fillInTheMiddle(): Promise<void> {
  const { redisProxy } = fleet.member(1);
  const isStep = runsOf('dictionary write');
  let steps = 0;
  await new Promise<void>((resolve) => {
    redisProxy.on('command', (command) => {
      if (!isStep(command)) return;
      steps += 1;
      if (steps !== 3) return;
      redisProxy.blackHole('toTarget');
      resolve();
    });
  });
  await fleet.redis.command('CONFIG', 'SET', 'maxmemory', '1');
  redisProxy.passEverything();
}

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

  const full = fillInTheMiddle();
  const put = await refusal(clients.at(fleet.member(1)).put('put', NEW));
  await full;
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
  const [old, wanted, found] = [OLD, NEW, await client.list('put')].map(contentOf);
  const isWhole = ([entryId, content]: [string, string]): boolean =>
    content === old?.get(entryId) || content === wanted?.get(entryId);
  expect([...(found ?? [])].filter((entry) => !isWhole(entry))).toEqual([]);
  expect([...(found ?? [])].filter(([entryId, content]) => content === wanted?.get(entryId))).not.toEqual([]);
  expect(Number(await fleet.redis.command('DBSIZE'))).toBeGreaterThan(0);

  await fleet.redis.command('CONFIG', 'SET', 'maxmemory', '0');
  await client.put('put', NEW);
  expect(await client.import('imported', NEW)).toMatchObject({ code: 'OK' });
  for (const name of ['put', 'imported', 'committed']) {
    await expectSound(fleet.redis, client, name);
    await expectContent(client, name, NEW, 'new');
  }
  expect(await client.select('put', 'town 1')).toBe(1);
});
