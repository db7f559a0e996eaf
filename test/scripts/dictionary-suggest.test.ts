import type { MatchKind } from '../../src/engine/autocomplete/suggestion';
import { DictionaryFixture, entry } from '../support/dictionary-fixture';
import { allPages } from '../support/dictionary-questions';

describe('dictionary-suggest', () => {
  let on: DictionaryFixture;
  beforeAll(async () => {
    on = await DictionaryFixture.open();
  });
  afterAll(() => on?.close());

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
      const name = on.name();
      await on.engine.createDictionary(name, { accents: 'kept', typos: true });
      const entries = Array.from({ length: 1000 }, (_, i) => entry(`${i}`, `name ${i}`, { weight: i }));
      await on.engine.putEntries(name, entries);
      const found = await allPages(on.engine, { dictionary: name, query: '', kinds, pageSize: 90 });
      expect(found.map(({ entryId }) => entryId)).toEqual(entries.map(({ entryId }) => entryId).reverse());
    },
  );

  it('shows nothing to an empty query that asks for what it cannot be', async () => {
    const name = on.name();
    await on.engine.createDictionary(name, { accents: 'kept', typos: true });
    await on.engine.putEntries(name, [entry('a', 'a')]);
    for (const kinds of [['exact'], ['typo'], ['exact', 'typo']] as const) {
      expect(await allPages(on.engine, { dictionary: name, query: '', kinds })).toEqual([]);
    }
  });
});
