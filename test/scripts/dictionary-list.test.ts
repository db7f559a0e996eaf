import { DictionaryFixture, entry } from '../support/dictionary-fixture';
import { allListed } from '../support/dictionary-questions';

describe('dictionary-list', () => {
  let fixture: DictionaryFixture;
  beforeAll(async () => {
    fixture = await DictionaryFixture.open();
  });
  afterAll(() => fixture?.close());

  const list = async (name: string, from = '', to = '', pageSize = 2) =>
    (await allListed(fixture.engine, { dictionary: name, from, to, pageSize })).map(({ entryId }) => entryId);

  it('lists an entry with an empty folded text before all other entries', async () => {
    const name = fixture.name();
    await fixture.engine.createDictionary(name, { accents: 'dropped', typos: true });
    await fixture.engine.putEntries(name, [
      entry('a', 'a'),
      entry('accents', '\u0301\u0300'),
      entry('space', ' '),
    ]);
    expect(await list(name)).toEqual(['accents', 'space', 'a']);
    expect(await list(name, '', 'a')).toEqual(['accents', 'space']);
    await fixture.engine.deleteEntries(name, ['accents']);
    expect(await list(name)).toEqual(['space', 'a']);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });
});
