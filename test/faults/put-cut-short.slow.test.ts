import { dictionaryKey } from '../../src/redis/keys';
import { checkDictionary } from '../support/dictionary-checker';
import { refusal } from '../support/clients/call-ending';
import type { EntryFields } from '../support/clients/dictionary-import';
import { DictionaryClients } from './dictionary-client';
import { expectSound } from './dictionary-residue';
import { Fleet, type Member } from './fleet';
import { PREFIX } from './observer';
import { runsOf } from './script-commands';
import { contentOf, expectContent, largeTowns, towns } from './towns';

/** Server 0 stays up. Tests kill the other servers. */
let fleet: Fleet;
const clients = new DictionaryClients();

beforeAll(async () => {
  fleet = await Fleet.start({
    redis: { appendfsync: 'no' },
    members: [{}, { redisProxy: true }, { redisProxy: true }],
  });
});

afterAll(async () => {
  clients.close();
  await fleet?.close();
});

/** The position of the first entry's id among the arguments of the dictionary script. */
const FIRST_ID = 6;

/** Kills the server at its n-th script that writes this entry or a later entry. */
function killAt(member: Member, name: string, { entryId, tries }: { entryId: string; tries: number }): void {
  const isStep = runsOf('dictionary write', dictionaryKey(PREFIX, name));
  let tried = 0;
  member.redisProxy.on('command', (command) => {
    const [, index = ''] = /^town (\d+)$/.exec(command.args[FIRST_ID] ?? '') ?? [];
    if (!isStep(command) || Number(index) < Number(entryId.slice('town '.length))) return;
    tried += 1;
    if (tried === tries) member.server.signal('SIGKILL');
  });
}

interface Case {
  readonly member: number;
  readonly at: { readonly entryId: string; readonly tries: number };
  readonly entries: (version: string) => EntryFields[];
}

const CASES: Readonly<Record<string, Case>> = {
  'a thousand entries': {
    member: 1,
    at: { entryId: 'town 300', tries: 1 },
    entries: (version) => towns(1000, version),
  },
  'entries that take many scripts each': {
    member: 2,
    at: { entryId: 'town 3', tries: 3 },
    entries: (version) => largeTowns(6, version),
  },
};

test.concurrent.each(Object.entries(CASES))(
  'a server killed during a put of %s leaves each entry old or new, and a repeat at another server completes the put',
  async (name, { member, at, entries }) => {
    const survivor = clients.at(fleet.member(0));
    const [before, wanted] = [entries('old'), entries('new')];
    await survivor.create(name);
    await survivor.put(name, before);
    killAt(fleet.member(member), name, at);
    const { code } = await refusal(clients.at(fleet.member(member)).put(name, wanted));
    expect(code).toBe('UNAVAILABLE');

    const place = { url: fleet.redis.url, prefix: PREFIX, name };
    expect(await checkDictionary(place, { unfinished: true })).toEqual([]);
    const [old, put, found] = [before, wanted, await survivor.list(name)].map(contentOf);
    let newOnes = 0;
    for (const [entryId, content] of found ?? []) {
      if (content === put?.get(entryId)) newOnes += 1;
      else expect(content).toBe(old?.get(entryId));
    }
    expect(found?.size).toBe(wanted.length);
    expect(newOnes).toBeGreaterThan(0);
    expect(newOnes).toBeLessThan(wanted.length);

    await survivor.put(name, wanted);
    await expectSound(fleet.redis, survivor, name);
    await expectContent(survivor, name, wanted, 'new');
  },
);
