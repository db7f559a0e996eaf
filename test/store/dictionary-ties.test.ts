import type { Entry, MatchKind } from '../../src/autocomplete/suggestion';
import {
  allListed,
  allPages,
  DictionaryFixture,
  entry,
  pageOf,
  storedOf,
} from '../support/autocomplete/dictionary-fixture';
import { compare } from '../support/autocomplete/dictionary-model';
import { seeded } from '../support/autocomplete/dictionary-texts';

/** The number of entries with the same score and a long common beginning. */
const COUNT = 1500;
const SEED = 20_261_122;
const PROFILE = { accents: 'kept', typos: true } as const;

let fixture: DictionaryFixture;
beforeAll(async () => {
  fixture = await DictionaryFixture.open();
});
afterAll(() => fixture?.close());

const textsOf = (found: readonly { readonly text: string }[]) => found.map(({ text }) => text);

async function imported(entries: readonly Entry[]): Promise<string> {
  const name = fixture.name();
  const session = await fixture.engine.startImport(name, PROFILE);
  for (let i = 0; i < entries.length; i += 1000) await session.put(storedOf(...entries.slice(i, i + 1000)));
  await session.commit(entries.length);
  return name;
}

function shuffled<T>(items: readonly T[]): T[] {
  const random = seeded(SEED);
  return items
    .map((item) => ({ item, at: random(1_000_000) }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

describe(`a dictionary of ${COUNT} addresses with equal weights (seed ${SEED})`, () => {
  const texts = Array.from({ length: COUNT }, (_, i) => `https://www.example.com/articles/page-${i + 1}`);
  const inOrder = [...texts].sort(compare);
  let name: string;
  beforeAll(async () => {
    name = await imported(shuffled(texts).map((text) => entry(text, text)));
  });

  it.each([
    ['h', 'prefix'],
    ['http', 'prefix'],
    ['https://www.example.com', 'prefix'],
    ['page', 'contains'],
    ['page', 'word-prefix'],
    ['example', 'contains'],
    ['e', 'contains'],
    ['-4', 'contains'],
    ['7', 'suffix'],
    ['http', 'contains'],
  ] as const)('shows each match of %s (%s) once, in the order of texts', async (query, kind) => {
    const matching = inOrder.filter((text) =>
      kind === 'suffix' ? text.endsWith(query) : text.includes(query),
    );
    for (const pageSize of [100, 17]) {
      const kinds: MatchKind[] = [kind];
      const found = await allPages((page) => fixture.servers[page % 2]!.engine, {
        dictionary: name,
        query,
        kinds,
        pageSize,
      });
      expect(textsOf(found)).toEqual(matching);
      expect(new Set(found.map((one) => one.kind))).toEqual(new Set(kinds));
    }
  });

  it.each(['h', 'http', 'https://www.example.com', 'page', 'example'])(
    'has the first texts in order on the first page of %s, for every page size',
    async (query) => {
      for (const pageSize of [1, 10, 100]) {
        const { suggestions } = await pageOf(fixture.engine, { dictionary: name, query, pageSize });
        expect(textsOf(suggestions)).toEqual(inOrder.slice(0, pageSize));
      }
    },
  );
});

it('entries with equal texts and scores are in the order of their ids, among suggestions and in lists', async () => {
  const ids = Array.from({ length: 300 }, (_, i) => `id ${i}`);
  const name = await imported(shuffled(ids).map((id) => entry(id, 'John Smith')));
  const engine = () => fixture.engine;
  const asked = { dictionary: name, pageSize: 7 };
  const found = await allPages(engine, { ...asked, query: 'smith' });
  expect(found.map(({ entryId }) => entryId)).toEqual([...ids].sort(compare));
  const listed = await allListed(engine, asked);
  expect(listed.map(({ entryId }) => entryId)).toEqual([...ids].sort(compare));
});

describe('a typo', () => {
  it.each([
    ['in an alias with two wrong characters', 'zz', ['axcdXfghijkl'], 'aqcrXfghijkl'],
    ['at the end of the compared beginning', 'abxdfeghijk', [], 'abcdefgh'],
  ])('is found %s', async (_what, text, aliases, query) => {
    const name = await imported([entry('meant', text, { aliases }), entry('other', 'something else')]);
    const found = await allPages(() => fixture.engine, { dictionary: name, query });
    expect(found.map(({ kind, entryId }) => [kind, entryId])).toEqual([['typo', 'meant']]);
  });

  it('is found by an alias among 300 entries with the same beginning', async () => {
    const many = Array.from({ length: 300 }, (_, i) => entry(`${i}`, `christ${i}z`, { weight: 100 }));
    const meant = entry('meant', 'chris brown', { aliases: ['christopher'], weight: 1000 });
    const name = await imported([...many, meant]);
    for (const query of ['chrxst', 'chrst', 'chirst', 'chrisst']) {
      const { suggestions } = await pageOf(fixture.engine, { dictionary: name, query });
      expect(suggestions[0]).toMatchObject({ kind: 'typo', entryId: 'meant' });
    }
  });

  it('is ordered by its text among entries with the same score and the same beginning', async () => {
    const texts = Array.from({ length: 90 }, (_, i) => `reiplais brand${(i * 37) % 90}`);
    const name = await imported(texts.map((text) => entry(text, text, { weight: 2 })));
    for (const pageSize of [1, 10, 100]) {
      const asked = { dictionary: name, query: 'reilasi br', pageSize };
      const { suggestions } = await pageOf(fixture.engine, asked);
      expect(textsOf(suggestions)).toEqual([...texts].sort(compare).slice(0, pageSize));
    }
  });
});
