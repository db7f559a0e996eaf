import {
  entriesCreate,
  entriesDrop,
  entriesImportStart,
  entriesSelect,
  entriesSweep,
  entriesUsage,
} from '../../../generated/redis/scripts';
import { ownedNamesKey } from '../../../src/autocomplete/redis/entry-keys';
import {
  EntriesFixture,
  IN_TIME,
  PREFIX,
  PROFILE,
  stored,
  storedMany,
} from '../../support/autocomplete/entries-fixture';

let fixture: EntriesFixture;
beforeAll(async () => {
  fixture = await EntriesFixture.open();
});
afterAll(() => fixture.close());

const MINUTE_US = 60_000_000;
const BATCH = 64;

describe('the deletion and the clean-up of entries', () => {
  const sweep = async (name: string) => String((await fixture.run(entriesSweep, name))[0]);
  const keyCount = async (name: string) => {
    const keys = (await fixture.redis.command('KEYS', `${fixture.partKey(name, '')}*`)) as string[];
    // The mark of a deletion expires.
    return keys.filter((key) => key !== fixture.partKey(name, 'dropped')).length;
  };
  const replace = async (name: string) => {
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    await fixture.store.putImported(name, 'import', [stored('new')]);
    await fixture.store.commitImport(name, 'import');
  };
  /** Lets the time pass until garbage may be removed. */
  const age = async (name: string, generation: string, us: number) =>
    fixture.redis.command('HINCRBY', fixture.key(name), `garbage:${generation}`, -us);

  it('a deleted dictionary does not exist, and its keys are removed in steps of at most 64 keys', async () => {
    const name = await fixture.dictionary();
    for (let i = 0; i < 8; i += 1) await fixture.store.put(name, storedMany(1000, i * 1000));
    expect(await fixture.store.drop(name)).toBe(true);
    expect(await fixture.store.head(name)).toEqual({ kind: 'unknown' });
    expect(await fixture.store.drop(name)).toBe(false);
    let left = await keyCount(name);
    expect(left).toBeGreaterThan(160);
    for (let word = 'MORE'; word === 'MORE';) {
      word = await sweep(name);
      const now = await keyCount(name);
      // The put that leaves the feed takes its ten chunks along.
      expect(left - now).toBeLessThanOrEqual(BATCH + 20);
      left = now;
    }
    expect(left).toBe(0);
    expect(await sweep(name)).toBe('GONE');
  });

  it('a deletion without the state of the dictionary removes all keys', async () => {
    const name = await fixture.dictionary(storedMany(500));
    await fixture.redis.command(
      'DEL',
      fixture.partKey(name, 'state', String(await fixture.meta(name, 'live'))),
    );
    expect(await fixture.store.drop(name)).toBe(true);
    while ((await sweep(name)) !== 'GONE');
    expect(await keyCount(name)).toBe(0);
  });

  it('the live generation survives a mark that its keys may be removed', async () => {
    const name = await fixture.dictionary(storedMany(3));
    await age(name, String(await fixture.meta(name, 'live')), -1);
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect(Object.keys(await fixture.content(name))).toHaveLength(3);
  });

  it('a replaced generation is kept if the clock is set back a little', async () => {
    const name = await fixture.dictionary([stored('new')]);
    const before = String(await fixture.meta(name, 'live'));
    const select = (...time: string[]) => fixture.run(entriesSelect, name, 'w', 'new', '1', ...time);
    expect(await select(...IN_TIME)).toEqual(['OK', '1']);
    await replace(name);
    await age(name, before, -9 * MINUTE_US);
    expect(await sweep(name)).toBe('LATER');
    expect(await select(IN_TIME[0], '1')).toEqual(['OK', '1']);
  });

  it('a repetition of a write is not done again if the replaced generation was removed too early', async () => {
    const name = await fixture.dictionary([stored('new')]);
    const before = String(await fixture.meta(name, 'live'));
    const select = (...time: string[]) => fixture.run(entriesSelect, name, 'w', 'new', '1', ...time);
    await select(...IN_TIME);
    await replace(name);
    await age(name, before, -11 * MINUTE_US);
    while ((await sweep(name)) === 'MORE');
    expect(await fixture.meta(name, 'previous')).toBeNull();
    expect(await select(IN_TIME[0], '1')).toEqual(['FORGOTTEN']);
    expect(await fixture.content(name)).toMatchObject({ new: [expect.anything(), 1] });
  });

  it('a repeated deletion gets the same answer, also after its time, and does not delete a new dictionary', async () => {
    const name = await fixture.dictionary(storedMany(2));
    const drop = (id: string, ...time: string[]) => fixture.run(entriesDrop, name, id, ...time);
    expect(await drop('w', '1', '0')).toEqual(['LATE']);
    expect(await drop('w', ...IN_TIME)).toEqual(['OK']);
    expect(await drop('w', IN_TIME[0], '1')).toEqual(['OK']);
    expect(await drop('w', '1', '1')).toEqual(['OK']);
    expect(await drop('v', ...IN_TIME)).toEqual(['UNKNOWN']);
    await fixture.store.create(name, { accents: 'dropped', typos: false });
    expect(await drop('w', '1', '1')).toEqual(['OK']);
    expect(await fixture.head(name)).toMatchObject({ profile: { accents: 'dropped', typos: false } });
    expect(await fixture.content(name)).toEqual({});
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('a deletion removes the chunks of all puts in a long feed, and an unfinished put', async () => {
    const name = await fixture.dictionary(storedMany(150));
    for (let i = 0; i < 100; i += 1) await fixture.store.select(name, 'id 1', 1);
    await fixture.store.put(name, storedMany(150, 100));
    await fixture.makePending(name, 2, 1);
    expect(await fixture.store.drop(name)).toBe(true);
    expect(await fixture.meta(name, 'pending')).toBeNull();
    await fixture.store.create(name, PROFILE);
    await fixture.store.put(name, [stored('new')]);
    expect(Object.keys(await fixture.content(name))).toEqual(['new']);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('a deletion removes an import of a dictionary that does not exist yet', async () => {
    const name = fixture.name();
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    expect(await fixture.store.drop(name)).toBe(false);
    expect(await fixture.store.commitImport(name, 'import')).toEqual({ kind: 'lost' });
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect(await fixture.store.sweep(name)).toBe('gone');
    expect(await keyCount(name)).toBe(0);
  });

  it('keeps a replaced generation for ten minutes', async () => {
    const name = await fixture.dictionary(storedMany(100));
    const live = String(await fixture.meta(name, 'live'));
    await replace(name);
    expect(await sweep(name)).toBe('LATER');
    await age(name, live, 9 * MINUTE_US);
    expect(await sweep(name)).toBe('LATER');
    expect(await fixture.store.readBuckets(name, live, 0)).toMatchObject({ kind: 'buckets', bucketCount: 2 });
    await age(name, live, 1 * MINUTE_US);
    expect(await sweep(name)).toBe('MORE');
    expect(await fixture.store.readBuckets(name, live, 0)).toEqual({ kind: 'gap' });
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect(await sweep(name)).toBe('CLEAN');
    expect(await fixture.meta(name, 'previous')).toBeNull();
  });

  it('keeps only the last replaced generation', async () => {
    const name = await fixture.dictionary();
    await replace(name);
    const second = String(await fixture.meta(name, 'live'));
    await fixture.store.startImport(name, 'next', undefined, PROFILE);
    await fixture.store.commitImport(name, 'next');
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect(await fixture.meta(name, 'previous')).toBe(second);
    expect(await fixture.store.sweep(name)).toBe('later');
  });

  it('removes a replaced generation even if the clock was set back', async () => {
    const name = await fixture.dictionary();
    const live = String(await fixture.meta(name, 'live'));
    await replace(name);
    await age(name, live, -60 * MINUTE_US);
    expect(await sweep(name)).toBe('MORE');
  });

  it('removes an abandoned import at once', async () => {
    const name = await fixture.dictionary();
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    await fixture.store.putImported(name, 'import', storedMany(500));
    await fixture.store.put(name, [stored('a')]);
    await fixture.store.abandonImport(name, 'import');
    expect(await fixture.store.putImported(name, 'import', [stored('b')])).toEqual({ kind: 'lost' });
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect(await fixture.store.sweep(name)).toBe('clean');
  });

  it('finishes a committed put of a server that stopped', async () => {
    const name = await fixture.dictionary();
    await fixture.store.put(name, storedMany(300));
    expect(await sweep(name)).toBe('CLEAN');
    await fixture.makePending(name, 3, 1);
    expect([await sweep(name), await sweep(name)]).toEqual(['MORE', 'CLEAN']);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });
});

describe('the inspection of a dictionary', () => {
  const memoryOf = async (key: string) =>
    Number(await fixture.redis.command('MEMORY', 'USAGE', key, 'SAMPLES', 0));

  it('says that the dictionary is unknown', async () => {
    expect(await fixture.store.inspect(fixture.name())).toEqual({ kind: 'unknown' });
  });

  it('counts the generations that have been live', async () => {
    const name = await fixture.dictionary();
    expect(await fixture.store.inspect(name)).toMatchObject({ generation: 1, entryCount: 0 });
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    expect(await fixture.store.inspect(name)).toMatchObject({ generation: 1 });
    await fixture.store.commitImport(name, 'import');
    expect(await fixture.store.inspect(name)).toMatchObject({ generation: 2 });
  });

  const bytesOf = async (name: string) => {
    const inspected = await fixture.store.inspect(name);
    if (inspected.kind !== 'ok') throw new Error(`the dictionary is ${inspected.kind}`);
    return inspected.memoryBytes;
  };

  it('counts the ids that an open import keeps', async () => {
    const name = await fixture.dictionary();
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    const before = await bytesOf(name);
    const generation = String(await fixture.meta(name, 'import:import'));
    const pins = fixture.partKey(name, 'e', `${generation}:pins`, '0');
    await fixture.redis.command('HSET', pins, 'x'.repeat(50_000), '');
    expect(await bytesOf(name)).toBeGreaterThan(before + 40_000);
  });

  it('counts a generation whose buckets are removed already', async () => {
    const name = await fixture.dictionary(storedMany(100));
    const live = String(await fixture.meta(name, 'live'));
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    await fixture.store.commitImport(name, 'import');
    await fixture.redis.command('HSET', fixture.partKey(name, 'state', live), 'buckets', 0);
    expect(await bytesOf(name)).toBeGreaterThan(0);
  });

  it.each([60, 3000])('estimates the bytes of %d entries in Redis', async (count) => {
    const name = await fixture.dictionary(storedMany(count));
    const inspected = await fixture.store.inspect(name);
    if (inspected.kind !== 'ok') throw new Error(`the dictionary is ${inspected.kind}`);
    const generation = String(await fixture.meta(name, 'live'));
    const keys = (await fixture.redis.command(
      'KEYS',
      fixture.partKey(name, 'e', generation, '*'),
    )) as string[];
    const others = [fixture.key(name), fixture.partKey(name, 'state', generation)];
    const memory = await Promise.all([...keys, ...others].map(memoryOf));
    const bytes = inspected.feedBytes + memory.reduce((sum, one) => sum + one, 0);
    expect(inspected.memoryBytes / bytes).toBeGreaterThan(0.9);
    expect(inspected.memoryBytes / bytes).toBeLessThan(1.1);
  });
});

const [ALICE, BOB] = ['token:alice', 'spiffe://example.org/bob'];

describe('the owner of a dictionary', () => {
  const owner = (name: string) => fixture.meta(name, 'owner');
  const start = (name: string, by: string, id = 'import') =>
    fixture.store.startImport(name, id, undefined, PROFILE, by);
  const isListed = async (by: string, name: string) =>
    (await fixture.redis.command('ZSCORE', ownedNamesKey(PREFIX, by), name)) !== null;

  it('is the caller of its creation, and does not change while the dictionary exists', async () => {
    const name = fixture.name();
    expect(await fixture.store.create(name, PROFILE, ALICE)).toEqual({ kind: 'ok' });
    expect(await fixture.store.create(name, PROFILE, BOB)).toEqual({ kind: 'ok' });
    await fixture.store.put(name, storedMany(10));
    await start(name, BOB);
    expect(await fixture.store.commitImport(name, 'import', BOB)).toEqual({ kind: 'ok' });
    expect(await owner(name)).toBe(ALICE);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('is absent if the creator has no identity', async () => {
    const name = await fixture.dictionary();
    expect(await owner(name)).toBeNull();
    await start(name, '');
    await fixture.store.commitImport(name, 'import', '');
    expect(await owner(name)).toBeNull();
    expect(await fixture.store.usage(name)).toMatchObject({ kind: 'used', owner: '' });
  });

  it('is the caller of the import that creates the dictionary with its commit', async () => {
    const name = fixture.name();
    await start(name, ALICE, 'first');
    await start(name, BOB, 'second');
    expect(await owner(name)).toBeNull();
    expect(await fixture.store.commitImport(name, 'second', BOB)).toEqual({ kind: 'ok' });
    expect(await owner(name)).toBe(BOB);
    const state = fixture.partKey(name, 'state', String(await fixture.meta(name, 'live')));
    expect(await fixture.redis.command('HGET', state, 'owner')).toBeNull();
  });

  it('is the caller of a creation during an import of somebody else', async () => {
    const name = fixture.name();
    await start(name, ALICE);
    await fixture.store.create(name, PROFILE, BOB);
    expect(await fixture.store.commitImport(name, 'import', ALICE)).toEqual({ kind: 'ok' });
    expect(await owner(name)).toBe(BOB);
  });

  it('is absent if an older server has started the import', async () => {
    const name = fixture.name();
    await start(name, ALICE);
    const state = fixture.partKey(name, 'state', String(await fixture.meta(name, 'import:import')));
    await fixture.redis.command('HDEL', state, 'owner');
    // An older server leaves the owner of a deleted dictionary.
    await fixture.redis.command('HSET', fixture.key(name), 'owner', BOB);
    expect(await fixture.store.commitImport(name, 'import', '')).toEqual({ kind: 'ok' });
    expect(await owner(name)).toBeNull();
  });

  it('goes with the dictionary, and the next creator becomes the owner', async () => {
    const name = fixture.name();
    await fixture.store.create(name, PROFILE, ALICE);
    await fixture.store.drop(name);
    expect(await owner(name)).toBeNull();
    await fixture.store.create(name, PROFILE, BOB);
    expect(await owner(name)).toBe(BOB);
    await fixture.store.drop(name);
    await fixture.redis.command('HSET', fixture.key(name), 'owner', BOB);
    await fixture.store.create(name, PROFILE, '');
    expect(await owner(name)).toBeNull();
  });

  it('stays the same if the creation or the start of the import is repeated', async () => {
    const [created, imported] = [fixture.name(), fixture.name()];
    for (const by of [ALICE, BOB])
      expect(await fixture.run(entriesCreate, created, 'kt', 'g', 'w', by, ...IN_TIME)).toEqual(['OK']);
    expect(await owner(created)).toBe(ALICE);
    for (const by of [ALICE, BOB])
      await fixture.run(entriesImportStart, imported, '', 'kt', 'i', 'g', by, ...IN_TIME);
    const state = fixture.partKey(imported, 'state', 'g');
    expect(await fixture.redis.command('HGET', state, 'owner')).toBe(ALICE);
  });

  it('has the dictionary in its list after a creation and after a commit, and again after a repeated creation', async () => {
    const [created, imported] = [fixture.name(), fixture.name()];
    await fixture.store.create(created, PROFILE, ALICE);
    await start(imported, ALICE);
    expect(await isListed(ALICE, imported)).toBe(false);
    await fixture.store.commitImport(imported, 'import', ALICE);
    expect([await isListed(ALICE, created), await isListed(ALICE, imported)]).toEqual([true, true]);
    expect(await isListed(BOB, created)).toBe(false);
    await fixture.store.unregisterOwned(ALICE, created);
    await fixture.store.create(created, PROFILE, ALICE);
    expect(await isListed(ALICE, created)).toBe(true);
  });
});

describe('the usage of a dictionary', () => {
  const numbers = async (name: string) => {
    const usage = await fixture.store.usage(name);
    return usage.kind === 'used' ? usage.amount : usage.kind;
  };

  it('is the number of live entries, and the bytes of their ids and records', async () => {
    const name = fixture.name();
    await fixture.store.create(name, PROFILE, ALICE);
    expect(await fixture.store.usage(name)).toEqual({
      kind: 'used',
      owner: ALICE,
      amount: { entries: 0, bytes: 0 },
    });
    await fixture.store.put(name, [stored('é', '1234'), stored('b', '12')]);
    expect(await numbers(name)).toEqual({ entries: 2, bytes: 9 });
    await fixture.store.put(name, [stored('b', '1')]);
    expect(await numbers(name)).toEqual({ entries: 2, bytes: 8 });
    await fixture.store.delete(name, ['b']);
    expect(await numbers(name)).toEqual({ entries: 1, bytes: 6 });
  });

  it('is that of the new entries after the commit of an import, and not before', async () => {
    const name = await fixture.dictionary(storedMany(3));
    await fixture.store.startImport(name, 'import', undefined, PROFILE, ALICE);
    await fixture.store.putImported(name, 'import', [stored('a', '12')]);
    expect(await numbers(name)).toMatchObject({ entries: 3 });
    await fixture.store.commitImport(name, 'import', ALICE);
    expect(await numbers(name)).toEqual({ entries: 1, bytes: 3 });
  });

  it('says whether a dictionary that does not exist has left keys', async () => {
    const name = fixture.name();
    expect(await numbers(name)).toBe('gone');
    await fixture.store.startImport(name, 'import', undefined, PROFILE, ALICE);
    expect(await numbers(name)).toBe('unknown');
    await fixture.store.abandonImport(name, 'import');
    while ((await fixture.store.sweep(name)) !== 'gone');
    expect(await numbers(name)).toBe('gone');
  });

  it('is nothing if Redis has lost the state, because nobody can read the entries', async () => {
    const name = await fixture.dictionary(storedMany(3));
    const state = fixture.partKey(name, 'state', String(await fixture.meta(name, 'live')));
    await fixture.redis.command('DEL', state);
    expect(await numbers(name)).toEqual({ entries: 0, bytes: 0 });
    expect(await fixture.run(entriesUsage, name)).toEqual(['OK', '', '0', '0']);
  });

  it('is unknown for a dictionary of a newer server', async () => {
    const name = await fixture.dictionary(storedMany(3));
    await fixture.redis.command('HSET', fixture.key(name), 'format', '3');
    expect(await numbers(name)).toBe('unknown');
  });
});
