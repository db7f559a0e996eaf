import {
  entriesCreate,
  entriesFinish,
  entriesImportAbandon,
  entriesSweep,
} from '../../generated/redis/scripts';
import {
  EntriesFixture,
  IN_TIME,
  PROFILE,
  stored,
  storedMany,
} from '../support/autocomplete/entries-fixture';

describe('a step on a dictionary', () => {
  let fixture: EntriesFixture;
  beforeAll(async () => {
    fixture = await EntriesFixture.open();
  });
  afterAll(() => fixture?.close());

  it('creates a dictionary with its first version, and does not create an existing dictionary again', async () => {
    const name = await fixture.dictionary();
    const created = await fixture.head(name);
    expect(created).toMatchObject({ version: 1 });
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect(await fixture.run(entriesCreate, name, 'kt', 'other', 'w', '', ...IN_TIME)).toEqual(['OK']);
    expect(await fixture.head(name)).toEqual(created);
  });

  it('finishes a put chunk by chunk, and then has nothing to do', async () => {
    const finish = (name: string) => fixture.run(entriesFinish, name);
    expect(await finish(fixture.name())).toEqual(['UNKNOWN']);
    const name = await fixture.dictionary();
    expect(await finish(name)).toEqual(['OK']);
    await fixture.store.put(name, storedMany(300));
    await fixture.makePending(name, 3, 1);
    expect([await finish(name), await finish(name), await finish(name)]).toEqual([['AGAIN'], ['OK'], ['OK']]);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('abandons no import that does not exist', async () => {
    const name = await fixture.dictionary();
    expect(await fixture.run(entriesImportAbandon, name, 'none')).toEqual(['OK']);
    expect(await fixture.store.sweep(name)).toBe('clean');
  });

  it('deletes an entry that only an open import has', async () => {
    const name = await fixture.dictionary();
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    await fixture.store.putImported(name, 'import', [stored('a'), stored('b')]);
    expect(await fixture.store.delete(name, ['a'])).toEqual({ kind: 'ok', deleted: 0 });
    expect(await fixture.store.commitImport(name, 'import')).toEqual({ kind: 'ok' });
    expect(Object.keys(await fixture.content(name))).toEqual(['b']);
  });

  it('deletes an entry that only copies of the replaced generation have', async () => {
    const name = await fixture.dictionary([stored('a'), stored('b')]);
    const old = await fixture.head(name);
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    await fixture.store.putImported(name, 'import', [stored('b')]);
    await fixture.store.commitImport(name, 'import');
    const committed = await fixture.head(name);
    expect(await fixture.store.delete(name, ['a'])).toEqual({ kind: 'ok', deleted: 0 });
    const read = await fixture.store.writesAfter(name, committed);
    expect(read).toMatchObject({ writes: [{ changes: [{ kind: 'delete', entryId: 'a' }] }] });
    expect(committed.generationId).not.toBe(old.generationId);
  });

  it('counts an entry with several selections once', async () => {
    const name = await fixture.dictionary(storedMany(2));
    for (const count of [1, 2, 3]) await fixture.store.select(name, 'id 0', count);
    expect(await fixture.content(name)).toEqual({ 'id 0': ['record 0', 6], 'id 1': ['record 1', 0] });
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('removes 64 keys of a deleted dictionary at once', async () => {
    const name = await fixture.dictionary();
    for (let from = 0; from < 4000; from += 1000) await fixture.store.put(name, storedMany(1000, from));
    const buckets = fixture.partKey(name, 'e', String(await fixture.meta(name, 'live')), '*');
    const count = async () => ((await fixture.redis.command('KEYS', buckets)) as string[]).length;
    expect(await fixture.store.drop(name)).toBe(true);
    const before = await count();
    expect(await fixture.run(entriesSweep, name)).toEqual(['MORE']);
    expect(await count()).toBe(before - 64);
  });

  it('deletes a dictionary with its replaced generation, which is then removed at once', async () => {
    const name = await fixture.dictionary(storedMany(3));
    await fixture.store.startImport(name, 'import', undefined, PROFILE);
    await fixture.store.commitImport(name, 'import');
    expect(await fixture.store.drop(name)).toBe(true);
    let state = await fixture.store.sweep(name);
    while (state === 'more') state = await fixture.store.sweep(name);
    expect(state).toBe('gone');
  });
});
