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
    'shows all entries exactly once for an empty query and the kinds: %s',
    async (_names, kinds) => {
      const name = fixture.name();
      await fixture.engine.createDictionary(name, { accents: 'kept', typos: true });
      const entries = Array.from({ length: 1000 }, (_, i) => entry(`${i}`, `name ${i}`, { weight: i }));
      await fixture.engine.putEntries(name, entries);
      const found = await allPages(fixture.engine, { dictionary: name, query: '', kinds, pageSize: 90 });
      expect(found.map(({ entryId }) => entryId)).toEqual(entries.map(({ entryId }) => entryId).reverse());
    },
  );

  it('shows nothing for an empty query and the kinds exact and typo', async () => {
    const name = fixture.name();
    await fixture.engine.createDictionary(name, { accents: 'kept', typos: true });
    await fixture.engine.putEntries(name, [entry('a', 'a')]);
    for (const kinds of [['exact'], ['typo'], ['exact', 'typo']] as const) {
      expect(await allPages(fixture.engine, { dictionary: name, query: '', kinds })).toEqual([]);
    }
  });
});
