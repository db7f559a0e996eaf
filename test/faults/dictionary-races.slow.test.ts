import { entriesKey } from '../../src/autocomplete/redis/entry-keys';
import { eventually } from '../support/eventually';
import type { RedisCommand } from '../support/proxy/tcp-proxy';
import { seeded } from '../support/random';
import type { EntryFields } from '../support/clients/autocomplete-client';
import { DictionaryClients } from './dictionary-client';
import { expectSound, keysOf } from './dictionary-residue';
import { Fleet } from './fleet';
import { PREFIX } from './observer';
import { contentOf, expectContentSoon, towns } from './towns';

let fleet: Fleet;
const clients = new DictionaryClients();

beforeAll(async () => {
  fleet = await Fleet.start({ redis: { appendfsync: 'no' }, members: [{}, {}, { redisProxy: true }] });
});

afterAll(async () => {
  clients.close();
  await fleet?.close();
});

const SEED = Number(process.env['HOLDFAST_TEST_SEED'] ?? 1);
const WRITERS = 4;
const ROUNDS = 40;
const IDS = 16;
/** The number of ids that are never deleted, so that their selections are never lost. */
const KEPT = 8;

/** The text that one call wrote to one id. The write took effect at some instant between `from` and `to`. */
interface Write {
  readonly text: string | undefined;
  readonly from: number;
  readonly to: number;
}

interface Counted {
  readonly count: number;
  readonly total: number;
}

class Writer {
  readonly writes = new Map<string, Write[]>();
  readonly selections = new Map<string, Counted[]>();
  private readonly random: () => number;

  constructor(
    private readonly index: number,
    private readonly dictionary: string,
  ) {
    this.random = seeded(SEED * 1000 + index);
  }

  async run(): Promise<void> {
    for (let round = 0; round < ROUNDS; round += 1) {
      const chance = this.random();
      if (chance < 0.45) await this.put(round);
      else if (chance < 0.6) await this.remove();
      else await this.select();
    }
  }

  private get client() {
    return clients.at(fleet.member(this.index % 2));
  }

  private async put(round: number): Promise<void> {
    const entries: EntryFields[] = this.some(0, IDS).map((entryId) => ({
      entryId,
      text: `${entryId} by ${this.index} in ${round}`,
      aliases: this.random() < 0.3 ? [`writer ${this.index}, round ${round}`.repeat(8)] : [],
      weight: BigInt(Math.floor(this.random() * 1000)),
    }));
    const from = performance.now();
    await this.client.put(this.dictionary, entries);
    const to = performance.now();
    for (const { entryId, text } of entries) note(this.writes, entryId, { text, from, to });
  }

  private async remove(): Promise<void> {
    const ids = this.some(KEPT, IDS);
    const from = performance.now();
    await this.client.remove(this.dictionary, ids);
    const to = performance.now();
    for (const id of ids) note(this.writes, id, { text: undefined, from, to });
  }

  private async select(): Promise<void> {
    const [id = ''] = this.some(0, IDS);
    const count = 1 + Math.floor(this.random() * 5);
    const total = await this.client.select(this.dictionary, id, count);
    if (total !== undefined) note(this.selections, id, { count, total });
  }

  private some(from: number, to: number): string[] {
    const ids = Array.from({ length: to - from }, (_, index) => `id ${from + index}`);
    const chosen = ids.filter(() => this.random() < 0.4);
    return chosen.length > 0 ? chosen : ids.slice(0, 1);
  }
}

function note<T>(all: Map<string, T[]>, id: string, value: T): void {
  all.set(id, [...(all.get(id) ?? []), value]);
}

/** The texts that an id may have at the end. A write is left out if another write began after its end. */
function possibleTexts(writes: readonly Write[]): (string | undefined)[] {
  return writes.filter(({ to }) => !writes.some(({ from }) => from > to)).map(({ text }) => text);
}

test('a dictionary has the last write of each id and counts each selection once when four clients write at two servers', async () => {
  const [dictionary, client] = ['contended', clients.at(fleet.member(0))];
  await client.create(dictionary);
  const first = performance.now();
  const ids = Array.from({ length: IDS }, (_, index) => `id ${index}`);
  await client.put(
    dictionary,
    ids.map((entryId) => ({ entryId, text: entryId })),
  );
  const writers = Array.from({ length: WRITERS }, (_, index) => new Writer(index, dictionary));
  await Promise.all(writers.map((writer) => writer.run()));
  await expectSound(fleet.redis, client, dictionary);

  const listed = new Map((await client.list(dictionary)).map((one) => [one.entry?.entryId, one]));
  const selected = new Map(
    (await clients.at(fleet.member(1)).list(dictionary)).map((one) => [
      one.entry?.entryId,
      one.selectionCount,
    ]),
  );
  let overlaps = 0;
  for (const [index, id] of ids.entries()) {
    const writes = writers.flatMap((writer) => writer.writes.get(id) ?? []);
    const possible = possibleTexts([{ text: id, from: first, to: first }, ...writes]);
    expect(possible).toContain(listed.get(id)?.entry?.text);
    overlaps += writes.filter((one) =>
      writes.some((other) => other !== one && other.from < one.to && one.from < other.to),
    ).length;
    if (index >= KEPT) continue;
    const counted = writers.flatMap((writer) => writer.selections.get(id) ?? []);
    const sum = counted.reduce((total, { count }) => total + count, 0);
    expect(selected.get(id)).toBe(BigInt(sum));
    // Each answer has the count directly after its selection, so each sorted count is the sum of the selections so far.
    let total = 0;
    for (const one of counted.sort((a, b) => a.total - b.total)) {
      total += one.count;
      expect(one.total).toBe(total);
    }
  }
  expect(overlaps).toBeGreaterThan(IDS);
});

const MINE = ['mine', 'yours'] as const;

test('exactly one of two simultaneous imports is committed, and the other import ends with IMPORT_CONFLICT', async () => {
  const dictionary = 'imported twice';
  const reader = clients.at(fleet.member(0));
  await reader.create(dictionary);
  for (let round = 1; round <= 4; round += 1) {
    const imports = MINE.map((version, index) => {
      const entries = towns(60 + 20 * index, `${version}-${round}`);
      const running = clients.at(fleet.member(index)).startImport(dictionary);
      return { entries, running, version };
    });
    await Promise.all(imports.map(({ running, entries }) => running.send(entries)));
    await eventually('both imports to be open', async () => {
      return (await reader.get(dictionary)).imports.length === 2;
    });
    const endings = await Promise.all(imports.map(({ running }) => running.commit()));
    expect(endings.map(({ code }) => code).sort()).toEqual(['ABORTED', 'OK']);
    expect(endings.find(({ code }) => code === 'ABORTED')?.reason).toBe('IMPORT_CONFLICT');
    const winner = imports[endings.findIndex(({ code }) => code === 'OK')];
    if (winner === undefined) throw new Error('no import was committed');
    const client = clients.at(fleet.member(round % 2));
    await expectContentSoon(client, dictionary, winner.entries, winner.version);
    await expectSound(fleet.redis, client, dictionary);
    expect((await client.get(dictionary)).generation).toBe(BigInt(round + 1));
  }
});

test('puts, deletes and selections override the batches of an import that runs at another server', async () => {
  const [dictionary, client, other] = ['kept', clients.at(fleet.member(0)), clients.at(fleet.member(1))];
  await client.create(dictionary);
  const old = towns(40, 'old');
  await client.put(dictionary, old);
  const running = other.startImport(dictionary);
  await eventually('the import to be under way', async () => (await client.get(dictionary)).imports[0]);
  const wanted = towns(120, 'new');
  const meanwhile = [...towns(10, 'meanwhile'), ...towns(50, 'meanwhile').slice(45)];
  const during = async (): Promise<void> => {
    for (let round = 0; round < 10; round += 1) {
      await client.put(dictionary, meanwhile.slice(round, round + 6));
      await client.select(dictionary, `town ${20 + (round % 3)}`, 2);
      await client.remove(dictionary, [`town ${30 + round}`]);
    }
  };
  await Promise.all([running.send(wanted, 10), during()]);
  await eventually('the import to be stored', async () => {
    return (await client.get(dictionary)).imports[0]?.receivedCount === BigInt(wanted.length);
  });
  // Before the commit the entry does not exist, so its selection is not counted.
  expect(await client.select(dictionary, 'town 100')).toBeUndefined();
  expect(await running.commit()).toMatchObject({ code: 'OK' });
  const gone = new Set(Array.from({ length: 10 }, (_, index) => `town ${30 + index}`));
  const beaten = new Map(meanwhile.map((entry) => [entry.entryId, entry]));
  const expected = wanted
    .filter(({ entryId }) => !gone.has(entryId))
    .map((entry) => beaten.get(entry.entryId) ?? entry);
  // The server of the import answers from the new generation.
  const listed = await other.list(dictionary);
  expect(contentOf(listed)).toEqual(contentOf(expected));
  await expectContentSoon(client, dictionary, expected, 'new');
  const counts = listed.filter(({ selectionCount }) => selectionCount > 0n);
  expect(counts.map(({ entry, selectionCount }) => [entry?.entryId, Number(selectionCount)]).sort()).toEqual([
    ['town 20', 8],
    ['town 21', 6],
    ['town 22', 6],
  ]);
  await expectSound(fleet.redis, client, dictionary);
});

test('a dictionary is listed although another server removes its name from the list during its first import', async () => {
  const [name, client] = ['listed', clients.at(fleet.member(0))];
  const { redisProxy } = fleet.member(2);
  const seen: RedisCommand[] = [];
  redisProxy.on('command', (command) => {
    if (!command.args.includes(name) && !command.args.includes(entriesKey(PREFIX, name))) return;
    seen.push(command);
    if (command.name === 'ZREM') redisProxy.blackHole('toTarget');
  });
  const given = clients.at(fleet.member(2)).startImport(name);
  given.end();
  await given.ended;
  await eventually('the removal of the name to be on its way', () => seen.at(-1)?.name === 'ZREM');
  const running = client.startImport(name);
  const wanted = towns(10, 'new');
  await running.send(wanted);
  await eventually('the import to be under way', async () => (await keysOf(fleet.redis, name)).length > 1);
  redisProxy.passEverything();
  // If the removal has timed out, the server reads the dictionary in its next round of sweeps, within 15 s.
  await eventually('the server to read the dictionary after that', () => seen.at(-1)?.name !== 'ZREM', {
    timeoutMs: 60_000,
  });
  expect(await running.commit()).toMatchObject({ code: 'OK' });
  await expectSound(fleet.redis, client, name);
  await eventually('the name to be listed', async () => (await client.names(name)).includes(name));
});
