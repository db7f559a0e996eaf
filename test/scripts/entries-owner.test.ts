import { entriesCreate, entriesImportStart, entriesUsage } from '../../generated/redis/scripts';
import { ownedNamesKey } from '../../src/autocomplete/redis/entry-keys';
import {
  EntriesFixture,
  IN_TIME,
  PREFIX,
  PROFILE,
  stored,
  storedMany,
} from '../support/autocomplete/entries-fixture';

const [ALICE, BOB] = ['token:alice', 'spiffe://example.org/bob'];

describe('the owner of a dictionary', () => {
  let fixture: EntriesFixture;
  beforeAll(async () => {
    fixture = await EntriesFixture.open();
  });
  afterAll(() => fixture?.close());

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
  let fixture: EntriesFixture;
  beforeAll(async () => {
    fixture = await EntriesFixture.open();
  });
  afterAll(() => fixture?.close());

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
