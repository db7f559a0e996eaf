import type { MatchKind } from '../../src/engine/autocomplete/suggestion';
import { DictionaryFixture, entry } from '../support/dictionary-fixture';
import { allPages } from '../support/dictionary-questions';

describe('dictionary-suggest', () => {
  let fixture: DictionaryFixture;
  beforeAll(async () => {
    fixture = await DictionaryFixture.open();
  });
  afterAll(() => fixture?.close());

  const kindsOfEmpty: readonly (readonly MatchKind[])[] = [
    [],
    ['prefix', 'contains'],
    ['word-prefix', 'suffix'],
    ['suffix', 'exact', 'contains'],
    ['contains', 'typo'],
  ];

  it.each(kindsOfEmpty.map((kinds) => [kinds.join(', ') || 'any', kinds] as const))(
    'shows all of a dictionary to an empty query and is through with the last: %s',
    async (_names, kinds) => {
      const name = fixture.name();
      await fixture.engine.createDictionary(name, { accents: 'kept', typos: true });
      const entries = Array.from({ length: 1000 }, (_, i) => entry(`${i}`, `name ${i}`, { weight: i }));
      await fixture.engine.putEntries(name, entries);
      const found = await allPages(fixture.engine, { dictionary: name, query: '', kinds, pageSize: 90 });
      expect(found.map(({ entryId }) => entryId)).toEqual(entries.map(({ entryId }) => entryId).reverse());
    },
  );

  it('shows nothing to an empty query that asks for what it cannot be', async () => {
    const name = fixture.name();
    await fixture.engine.createDictionary(name, { accents: 'kept', typos: true });
    await fixture.engine.putEntries(name, [entry('a', 'a')]);
    for (const kinds of [['exact'], ['typo'], ['exact', 'typo']] as const) {
      expect(await allPages(fixture.engine, { dictionary: name, query: '', kinds })).toEqual([]);
    }
  });
});
