import { eventually } from '../support/eventually';
import type { DictionaryImport } from '../support/clients/autocomplete-client';
import { DictionaryClients } from './dictionary-client';
import { expectNothingLeft, expectSound, generationsOf, silenceImports } from './dictionary-residue';
import { Fleet } from './fleet';
import { startImportProcess } from './import-process';
import { expectContent, towns } from './towns';

/** Server 0 stays up. Tests kill server 1 and drain server 2. */
let fleet: Fleet;
const clients = new DictionaryClients();

beforeAll(async () => {
  fleet = await Fleet.start({ redis: { appendfsync: 'no' }, members: [{}, {}, {}] });
});

afterAll(async () => {
  clients.close();
  await fleet?.close();
});

const OLD = towns(100, 'old');
const NEW = towns(800, 'new');

/** Creates a dictionary with the old towns, and returns its name. */
async function withOldTowns(name: string): Promise<string> {
  const client = clients.at(fleet.member(0));
  await client.create(name);
  await client.put(name, OLD);
  return name;
}

/** Resolves when Redis has a part of the import. */
function halfWay(name: string): Promise<unknown> {
  const client = clients.at(fleet.member(0));
  return eventually(`a part of the import of ${name} to be stored`, async () =>
    (await client.get(name)).imports.some(({ receivedCount }) => receivedCount >= 100n),
  );
}

test.concurrent(
  'a server killed during imports leaves the old generation, blocks no new import, and its keys are removed',
  async () => {
    const survivor = clients.at(fleet.member(0));
    const victim = clients.at(fleet.member(1));
    const [left, again] = await Promise.all([withOldTowns('left'), withOldTowns('again')]);
    const first = 'never there';
    const imports = [left, again, first].map((name) => victim.startImport(name));
    const sending = imports.map((running) => running.send(NEW));
    await Promise.all([halfWay(left), halfWay(again)]);
    await fleet.member(1).server.kill();
    await Promise.all(sending);
    for (const running of imports) expect((await running.ended).code).toBe('UNAVAILABLE');

    for (const name of [left, again]) await expectContent(survivor, name, OLD, 'old');
    expect((await survivor.suggest(left, 'new')).suggestions).toEqual([]);
    expect(await generationsOf(fleet.redis, left)).toHaveLength(2);
    expect(await survivor.names('never')).toEqual([]);

    expect(await survivor.import(again, NEW)).toMatchObject({ code: 'OK' });
    await expectContent(survivor, again, NEW, 'new');
    await expectSound(fleet.redis, survivor, again);

    for (const name of [left, first]) await silenceImports(fleet.redis, name);
    await fleet.add();
    await expectSound(fleet.redis, survivor, left);
    await expectContent(survivor, left, OLD, 'old');
    await expectNothingLeft(fleet.redis, first);
  },
);

test.concurrent('a client killed during its import leaves the old generation and no keys', async () => {
  const client = clients.at(fleet.member(0));
  const name = await withOldTowns('client killed');
  const process = await startImportProcess(fleet.member(0).address, name);
  try {
    await halfWay(name);
    process.signal('SIGKILL');
    await expectSound(fleet.redis, client, name);
    await expectContent(client, name, OLD, 'old');
  } finally {
    await process.close();
  }
});

const WAYS_TO_LEAVE: Readonly<Record<string, (running: DictionaryImport) => unknown>> = {
  'is cancelled': (running) => running.cancel(),
  'is half-closed without a commit': (running) => running.end(),
};

test.concurrent.each(Object.entries(WAYS_TO_LEAVE))(
  'an import that %s leaves the old generation and no keys',
  async (way, leave) => {
    const client = clients.at(fleet.member(0));
    const name = await withOldTowns(way);
    const running = client.startImport(name);
    await running.send(NEW.slice(0, 400));
    await halfWay(name);
    leave(running);
    expect((await running.ended).code).not.toBe('OK');
    await expectSound(fleet.redis, client, name);
    await expectContent(client, name, OLD, 'old');
    expect(await client.get(name)).toMatchObject({ generation: 1n });
  },
);

test.concurrent('an import at a draining server ends with DRAINING and leaves no keys', async () => {
  const client = clients.at(fleet.member(0));
  const name = await withOldTowns('drained');
  const running = clients.at(fleet.member(2)).startImport(name);
  await running.send(NEW.slice(0, 400));
  await halfWay(name);
  expect(await fleet.member(2).server.term()).toEqual({ code: 0, signal: null });
  expect(await running.ended).toMatchObject({ code: 'UNAVAILABLE', reason: 'DRAINING' });
  // A draining server removes nothing. The server that replaces the draining server removes the keys.
  await fleet.add();
  await expectSound(fleet.redis, client, name);
  await expectContent(client, name, OLD, 'old');
});
