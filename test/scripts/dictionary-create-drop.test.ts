import {
  dictionaryCreate,
  dictionaryDrop,
  dictionaryInspect,
  dictionaryStartImport,
  dictionaryWrite,
} from '../../generated/redis/scripts';
import { DictionaryFixture, foldedEntry, putArgs } from '../support/dictionary-fixture';

let fixture: DictionaryFixture;
beforeAll(async () => {
  fixture = await DictionaryFixture.open();
});
afterAll(() => fixture?.close());

const create = (name: string, profile: string) => fixture.run(dictionaryCreate, name, profile);
const drop = (name: string) => fixture.run(dictionaryDrop, name);
const put = (name: string, id: string, text: string) =>
  fixture.run(dictionaryWrite, name, 'kt1', '', ...putArgs(foldedEntry(id, text)));
/** The profile, the generation and the number of entries of a dictionary. */
const view = async (name: string) => {
  const [word, profile, generation, entries] = await fixture.run(dictionaryInspect, name);
  return word === 'OK' ? [profile, generation, entries] : word;
};

describe('dictionary-create', () => {
  it('creates an empty dictionary of the first generation', async () => {
    const name = fixture.name();
    expect(await create(name, 'kt1')).toEqual(['OK']);
    expect(await view(name)).toEqual(['kt1', '1', '0']);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('leaves an existing dictionary with the same profile unchanged', async () => {
    const name = fixture.name();
    await create(name, 'kt1');
    await put(name, 'a', 'a');
    const live = await fixture.meta(name, 'live');
    expect(await create(name, 'kt1')).toEqual(['OK']);
    expect(await fixture.meta(name, 'live')).toBe(live);
    expect(await view(name)).toEqual(['kt1', '1', '1']);
  });

  it('answers EXISTS for a dictionary with another profile, and changes nothing', async () => {
    const name = fixture.name();
    await create(name, 'd-1');
    for (const other of ['kt1', 'dt1', 'k-1', 'd-2']) {
      expect(await create(name, other)).toEqual(['EXISTS', 'd-1']);
    }
    expect(await view(name)).toEqual(['d-1', '1', '0']);
  });

  it('creates a dictionary during its first import, with the profile of the import only', async () => {
    const name = fixture.name();
    await fixture.run(dictionaryStartImport, name, 'kt1', 'kt1', 'import');
    await fixture.run(dictionaryWrite, name, 'kt1', 'import', ...putArgs(foldedEntry('a', 'a')));
    expect(await create(name, 'd-1')).toEqual(['EXISTS', 'kt1']);
    expect(await view(name)).toBe('UNKNOWN');
    expect(await create(name, 'kt1')).toEqual(['OK']);
    expect(await view(name)).toEqual(['kt1', '1', '0']);
  });
});

describe('dictionary-drop', () => {
  it('answers UNKNOWN if there is no dictionary, and leaves no key', async () => {
    const name = fixture.name();
    expect(await drop(name)).toEqual(['UNKNOWN']);
    expect(await fixture.redis.command('EXISTS', fixture.key(name))).toBe('0');
  });

  it('deletes a dictionary immediately, and answers UNKNOWN to a second drop', async () => {
    const name = fixture.name();
    await create(name, 'kt1');
    await put(name, 'a', 'a');
    expect(await drop(name)).toEqual(['OK']);
    expect(await view(name)).toBe('UNKNOWN');
    expect(await put(name, 'b', 'b')).toEqual(['UNKNOWN']);
    expect(await drop(name)).toEqual(['UNKNOWN']);
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect(await fixture.redis.command('EXISTS', fixture.key(name))).toBe('0');
  });

  it('frees the name immediately for an empty dictionary with another profile', async () => {
    const name = fixture.name();
    await create(name, 'd-1');
    await fixture.run(dictionaryWrite, name, 'd-1', '', ...putArgs(foldedEntry('a', 'a')));
    await drop(name);
    expect(await create(name, 'kt1')).toEqual(['OK']);
    await put(name, 'b', 'b');
    expect(await view(name)).toEqual(['kt1', '2', '1']);
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect(await view(name)).toEqual(['kt1', '2', '1']);
  });

  it('ends the imports of a dictionary, even before the dictionary exists', async () => {
    for (const made of [true, false]) {
      const name = fixture.name();
      if (made) await create(name, 'kt1');
      await fixture.run(dictionaryStartImport, name, 'kt1', 'kt1', 'import');
      const batch = ['kt1', 'import', ...putArgs(foldedEntry('a', 'a'))];
      expect((await fixture.run(dictionaryWrite, name, ...batch))[0]).toBe('OK');
      expect(await drop(name)).toEqual([made ? 'OK' : 'UNKNOWN']);
      expect(await fixture.run(dictionaryWrite, name, ...batch)).toEqual(['LOST']);
      expect(await create(name, 'd-1')).toEqual(['OK']);
      expect(await fixture.checkAtRest(name)).toEqual([]);
    }
  });
});
