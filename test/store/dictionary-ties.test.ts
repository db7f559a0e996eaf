import type { Suggestion, SuggestRequest } from '../../src/engine/autocomplete/suggestion';
import { DictionaryFixture, entry } from '../support/dictionary-fixture';
import { compare } from '../support/dictionary-model';
import { allPages, wholePage } from '../support/dictionary-questions';
import { seeded } from '../support/name-generator';

/** More entries than one script examines. All have the same score, and their common beginning is longer than a rank. */
const COUNT = 1500;
const SEED = 20_261_122;
/** The number of characters of a text in its rank. Only ranks order a page that is cut short. */
const RANK_TEXT = 40;
const PROFILE = { accents: 'kept', typos: true } as const;
/** The bound of pages. Pages that are cut short are more than the page size needs. */
const MOST_PAGES = 600;

let fixture: DictionaryFixture;
beforeAll(async () => {
  fixture = await DictionaryFixture.open();
});
afterAll(() => fixture?.close());

/** Reads all pages. The engine cuts every page short as early as possible. */
async function walk(asked: Omit<SuggestRequest, 'pageToken' | 'recentsList'>): Promise<Suggestion[]> {
  const found: Suggestion[] = [];
  let pageToken = '';
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const page = await fixture.hurriedEngine.suggest({ ...asked, pageToken, recentsList: '' });
    found.push(...page.suggestions);
    if (page.nextPageToken === '') return found;
    pageToken = page.nextPageToken;
  }
  throw new Error('the pages do not end');
}

const textsOf = (found: readonly Suggestion[]) => found.map(({ text }) => text);

describe(`a dictionary of ${COUNT} addresses with equal weights (seed ${SEED})`, () => {
  const texts = Array.from({ length: COUNT }, (_, i) => `https://www.example.com/articles/page-${i + 1}`);
  const inOrder = [...texts].sort(compare);
  let name: string;
  beforeAll(async () => {
    name = fixture.name();
    const random = seeded(SEED);
    const shuffled = texts
      .map((text) => ({ text, at: random(1_000_000) }))
      .sort((a, b) => a.at - b.at)
      .map(({ text }) => entry(text, text));
    const session = await fixture.engine.startImport(name, PROFILE);
    for (let i = 0; i < COUNT; i += 1000) await session.put(shuffled.slice(i, i + 1000));
    await session.commit(COUNT);
  }, 60_000);

  it.each([
    'h',
    'http',
    'https://www.example.com',
    'page',
    'example',
    'https://www.example.com/articles/page-4',
  ])('has suggestions on the first page of %s, even if that page is cut short', async (query) => {
    for (const pageSize of [1, 10, 100]) {
      const asked = { dictionary: name, query, kinds: [], pageSize, pageToken: '', recentsList: '' };
      const { suggestions } = await fixture.hurriedEngine.suggest(asked);
      expect(suggestions.length).toBeGreaterThan(0);
    }
  });

  it('orders complete pages by text', async () => {
    const asked = { dictionary: name, query: 'h', kinds: ['prefix'] as const, pageSize: 20 };
    expect(textsOf(await allPages(fixture.engine, asked))).toEqual(inOrder);
  }, 30_000);

  it.each(['h', 'http', 'https://www.example.com'])(
    'orders pages of %s that are cut short by rank',
    async (query) => {
      const found = await walk({ dictionary: name, query, kinds: ['prefix'], pageSize: 100 });
      const rank = (text: string) => text.slice(0, RANK_TEXT);
      expect(textsOf(found).map(rank)).toEqual(inOrder.map(rank));
    },
    30_000,
  );

  it.each([
    ['page', 'contains'],
    ['page', 'word-prefix'],
    ['example', 'contains'],
    ['e', 'contains'],
    ['-4', 'contains'],
    ['7', 'suffix'],
    ['http', 'contains'],
    ['http', 'prefix'],
  ] as const)(
    'shows each match of %s (%s) exactly once on pages that are cut short',
    async (query, kind) => {
      for (const pageSize of [100, 17]) {
        const found = await walk({ dictionary: name, query, kinds: [kind], pageSize });
        const matching = inOrder.filter((text) =>
          kind === 'suffix' ? text.endsWith(query) : text.includes(query),
        );
        expect(textsOf(found).sort(compare)).toEqual(matching);
        expect(new Set(found.map((one) => one.kind))).toEqual(new Set([kind]));
      }
    },
    60_000,
  );
});

describe('a typo', () => {
  it.each([
    ['in an alias with two wrong characters', 'zz', ['axcdXfghijkl'], 'aqcrXfghijkl'],
    ['at the end of the compared beginning', 'abxdfeghijk', [], 'abcdefgh'],
  ])('is found %s', async (_what, text, aliases, query) => {
    const name = fixture.name();
    await fixture.engine.createDictionary(name, PROFILE);
    await fixture.engine.putEntries(name, [
      entry('meant', text, { aliases }),
      entry('other', 'something else'),
    ]);
    const found = await allPages(fixture.engine, { dictionary: name, query });
    expect(found.map(({ kind, entryId }) => [kind, entryId])).toEqual([['typo', 'meant']]);
  });

  it('is found by an alias among 300 entries with the same beginning', async () => {
    const name = fixture.name();
    await fixture.engine.createDictionary(name, PROFILE);
    const many = Array.from({ length: 300 }, (_, i) => entry(`${i}`, `christ${i}z`, { weight: 100 }));
    const meant = entry('meant', 'chris brown', { aliases: ['christopher'], weight: 1000 });
    await fixture.engine.putEntries(name, [...many, meant]);
    for (const query of ['chrxst', 'chrst', 'chirst', 'chrisst']) {
      const { suggestions } = await fixture.engine.suggest({
        dictionary: name,
        query,
        kinds: [],
        pageSize: 10,
        pageToken: '',
        recentsList: '',
      });
      expect(suggestions[0]).toMatchObject({ kind: 'typo', entryId: 'meant' });
    }
  });

  // The end of a query finds typos with two edits among the first letters. The list of that end has short text pieces.
  it('is ordered by its text among entries with the same score and the same beginning', async () => {
    const name = fixture.name();
    await fixture.engine.createDictionary(name, PROFILE);
    const texts = Array.from({ length: 90 }, (_, i) => `reiplais brand${(i * 37) % 90}`);
    await fixture.engine.putEntries(
      name,
      texts.map((text) => entry(text, text, { weight: 2 })),
    );
    for (const pageSize of [1, 10, 100]) {
      const { suggestions } = await wholePage(fixture.engine, {
        dictionary: name,
        query: 'reilasi br',
        pageSize,
      });
      expect(textsOf(suggestions)).toEqual([...texts].sort(compare).slice(0, pageSize));
    }
  });
});
