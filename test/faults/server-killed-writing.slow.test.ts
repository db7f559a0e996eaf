import { entriesKey } from '../../src/autocomplete/redis/entry-keys';
import { refusal } from '../support/clients/calls';
import { eventually } from '../support/eventually';
import { DictionaryClients, type DictionaryClient } from './dictionary-client';
import { checkDictionary, expectNothingLeft, expectSound, silenceImports } from './dictionary-residue';
import { Fleet, type Member } from './fleet';
import { PREFIX } from './observer';
import { runsOf, type ScriptKind } from './script-commands';
import { contentOf, expectContent, towns } from './towns';

/** Server 0 stays up. Each test kills the other server, and starts it again. */
let fleet: Fleet;
const clients = new DictionaryClients();

beforeAll(async () => {
  fleet = await Fleet.start({ redis: { appendfsync: 'no' }, members: [{}, { redisProxy: true }] });
});

afterAll(async () => {
  clients.close();
  await fleet?.close();
});

const OLD = towns(150, 'old');
const NEW = towns(1000, 'new');
/** More entries than the first script of a load reads. */
const MANY = towns(1200, 'old');

/** Kills the server when it sends the n-th command of a kind for the dictionary. */
function killAt(member: Member, name: string, kind: ScriptKind | 'stage', number: number): void {
  const key = entriesKey(PREFIX, name);
  const staged = `${key.slice(0, key.indexOf('}:d:') + 4)}stage:`;
  const isStep =
    kind === 'stage'
      ? (command: { readonly args: readonly string[] }) => command.args[0]?.startsWith(staged) === true
      : runsOf(kind, key);
  let count = 0;
  const { redisProxy } = member;
  redisProxy.on('command', function kill(command) {
    if (!isStep(command)) return;
    count += 1;
    if (count !== number) return;
    member.server.signal('SIGKILL');
    redisProxy.off('command', kill);
  });
}

async function begin(name: string): Promise<{ survivor: DictionaryClient; victim: DictionaryClient }> {
  const survivor = clients.at(fleet.member(0));
  await survivor.create(name);
  await survivor.put(name, OLD);
  return { survivor, victim: clients.at(fleet.member(1)) };
}

async function restart(): Promise<void> {
  await eventually('the end of the killed server', () => fleet.member(1).server.exit !== undefined);
  await fleet.member(1).restart();
}

/** The name of the version that the dictionary has: all entries of one put. */
async function versionOf(client: DictionaryClient, name: string): Promise<'old' | 'new'> {
  const found = contentOf(await client.list(name));
  const isNew = found.size === NEW.length;
  expect(found).toEqual(contentOf(isNew ? NEW : OLD));
  return isNew ? 'new' : 'old';
}

test.each([
  ['stage', 1, ['old']],
  ['stage', 5, ['old']],
  ['dictionary put staged', 1, ['old', 'new']],
  ['dictionary finish', 1, ['new']],
  ['dictionary finish', 4, ['new']],
] as const)(
  'a server killed at %s (%d) of a put leaves all entries of the put or none',
  async (kind, number, possible) => {
    const name = `put, ${kind} ${number}`;
    const { survivor, victim } = await begin(name);
    killAt(fleet.member(1), name, kind, number);
    expect(await refusal(victim.put(name, NEW))).toMatchObject({ code: 'UNAVAILABLE' });
    expect(await checkDictionary(fleet.redis, name, { unfinished: true })).toEqual([]);
    expect(possible).toContain(await versionOf(survivor, name));
    await survivor.put(name, NEW);
    await expectContent(survivor, name, NEW, 'new');
    await expectSound(fleet.redis, survivor, name);
    await restart();
    await expectContent(clients.at(fleet.member(1)), name, NEW, 'new');
  },
);

test.each([
  ['dictionary start import', 1, ['old']],
  ['dictionary import batch', 1, ['old']],
  ['dictionary import batch', 8, ['old']],
  ['dictionary commit', 1, ['old', 'new']],
] as const)(
  'a server killed at %s (%d) of an import leaves the old generation or the new one, and no other keys',
  async (kind, number, possible) => {
    const name = `import, ${kind} ${number}`;
    const { survivor, victim } = await begin(name);
    killAt(fleet.member(1), name, kind, number);
    expect(await victim.import(name, NEW)).toMatchObject({ code: 'UNAVAILABLE' });
    expect(possible).toContain(await versionOf(survivor, name));
    await silenceImports(fleet.redis, name);
    // The first round of a new server's clean-up comes after a second.
    await restart();
    await expectSound(fleet.redis, survivor, name);
    expect(possible).toContain(await versionOf(clients.at(fleet.member(1)), name));
    await survivor.drop(name);
    await expectNothingLeft(fleet.redis, name);
  },
);

test.each(['dictionary start load', 'dictionary read buckets'] as const)(
  'a server killed at %s of its load changes nothing, and the next server loads',
  async (kind) => {
    const name = `load, ${kind}`;
    const { survivor, victim } = await begin(name);
    for (const half of [MANY.slice(0, 600), MANY.slice(600)]) await survivor.put(name, half);
    killAt(fleet.member(1), name, kind, 1);
    expect(await refusal(victim.suggest(name, 'old'))).toMatchObject({ code: 'UNAVAILABLE' });
    await expectContent(survivor, name, MANY, 'old');
    await restart();
    await expectContent(clients.at(fleet.member(1)), name, MANY, 'old');
    await expectSound(fleet.redis, survivor, name);
  },
);
