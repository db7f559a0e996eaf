import {
  dictionaryCreate,
  dictionaryEndImport,
  dictionaryInspect,
  dictionaryStartImport,
  dictionaryWrite,
} from '../../generated/redis/scripts';
import type { FoldedEntry } from '../../src/engine/autocomplete/dictionary-store';
import { DictionaryFixture, foldedEntry, giantEntry, putArgs } from '../support/dictionary-fixture';
import { allListed } from '../support/dictionary-questions';

describe('dictionary-end-import', () => {
  let fixture: DictionaryFixture;
  beforeAll(async () => {
    fixture = await DictionaryFixture.open();
  });
  afterAll(() => fixture?.close());

  const commit = (name: string, id: string) => fixture.run(dictionaryEndImport, name, id, 'commit');
  const abandon = (name: string, id: string) => fixture.run(dictionaryEndImport, name, id, 'abandon');
  const put = (name: string, id: string, ...entries: FoldedEntry[]) =>
    fixture.run(dictionaryWrite, name, 'kt1', id, ...entries.flatMap(putArgs));
  const inspect = (name: string) => fixture.run(dictionaryInspect, name);
  const idsOf = async (name: string) =>
    (await allListed(fixture.engine, { dictionary: name })).map(({ entryId }) => entryId);

  /** Creates a dictionary with one entry, and one import with one entry for each id. */
  async function importing(...ids: string[]): Promise<string> {
    const name = fixture.name();
    await fixture.run(dictionaryCreate, name, 'kt1');
    await put(name, '', foldedEntry('old', 'old'));
    for (const id of ids) {
      await fixture.run(dictionaryStartImport, name, '', 'kt1', id);
      await put(name, id, foldedEntry(id, id));
    }
    return name;
  }

  it('replaces the live generation by the import', async () => {
    const name = await importing('import');
    expect(await idsOf(name)).toEqual(['old']);
    expect(await commit(name, 'import')).toEqual(['OK']);
    expect(await idsOf(name)).toEqual(['import']);
    expect((await inspect(name)).slice(0, 4)).toEqual(['OK', 'kt1', '2', '1']);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('gives a repeated commit the same answer, and changes nothing', async () => {
    const name = await importing('import');
    await commit(name, 'import');
    await put(name, '', foldedEntry('later', 'later'));
    expect(await commit(name, 'import')).toEqual(['OK']);
    expect(await idsOf(name)).toEqual(['import', 'later']);
    expect((await inspect(name)).slice(0, 4)).toEqual(['OK', 'kt1', '2', '2']);
    // A committed import cannot be abandoned.
    expect(await abandon(name, 'import')).toEqual(['OK']);
    expect(await idsOf(name)).toEqual(['import', 'later']);
  });

  it('answers LOST for an unknown import', async () => {
    const name = await importing('import');
    expect(await commit(name, 'never begun')).toEqual(['LOST']);
    expect(await commit(fixture.name(), 'import')).toEqual(['LOST']);
    expect(await idsOf(name)).toEqual(['old']);
    expect((await inspect(name))[5]).toHaveLength(1);
  });

  it('ends all other imports, and answers LOST to their later calls', async () => {
    const name = await importing('one', 'two', 'three');
    expect(await commit(name, 'two')).toEqual(['OK']);
    for (const id of ['one', 'three']) {
      expect(await commit(name, id)).toEqual(['LOST']);
      expect(await put(name, id, foldedEntry('late', 'late'))).toEqual(['LOST']);
    }
    expect(await idsOf(name)).toEqual(['two']);
    expect((await inspect(name))[5]).toEqual([]);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it.each([
    ['the import', 'import', ['a', 'giant', 'import']],
    ['another import', 'other', ['import']],
    ['the live generation', '', ['giant', 'import']],
  ])('answers AGAIN to a commit until a large change of %s is finished', async (_what, id, expected) => {
    const name = await importing('import', 'other');
    if (id === 'import') await put(name, id, foldedEntry('a', 'a'));
    expect((await put(name, id, giantEntry('giant'))).slice(0, 3)).toEqual(['OK', '1', '0']);
    let again = 0;
    for (;;) {
      const [answer] = await commit(name, 'import');
      if (answer === 'OK') break;
      expect(answer).toBe('AGAIN');
      again += 1;
      expect((await inspect(name))[2]).toBe('1');
    }
    expect(again).toBeGreaterThan(0);
    expect((await idsOf(name)).sort()).toEqual(expected);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('abandons an import, accepts a second abandon, and keeps the dictionary', async () => {
    const name = await importing('import', 'other');
    expect(await abandon(name, 'import')).toEqual(['OK']);
    expect(await abandon(name, 'import')).toEqual(['OK']);
    expect(await commit(name, 'import')).toEqual(['LOST']);
    expect(await idsOf(name)).toEqual(['old']);
    expect((await inspect(name))[5]).toHaveLength(1);
    expect(await commit(name, 'other')).toEqual(['OK']);
    expect(await idsOf(name)).toEqual(['other']);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });

  it('leaves no key after the only import of a new dictionary is abandoned', async () => {
    const name = fixture.name();
    await fixture.run(dictionaryStartImport, name, 'd-1', 'kt1', 'import');
    await fixture.run(dictionaryWrite, name, 'd-1', 'import', ...putArgs(giantEntry('giant')));
    expect(await abandon(name, 'import')).toEqual(['OK']);
    expect(await fixture.run(dictionaryCreate, name, 'kt1')).toEqual(['OK']);
    expect(await fixture.checkAtRest(name)).toEqual([]);
    expect(await idsOf(name)).toEqual([]);
  });
});
