import { eventually, eventuallyPasses } from '../support/eventually';
import { refusal } from '../support/clients/calls';
import { DictionaryClients } from './dictionary-client';
import { expectNothingLeft, expectSound, generationsOf } from './dictionary-residue';
import { Fleet } from './fleet';
import { expectContent, town, towns } from './towns';

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
