import { MATCH_KINDS, type Entry, type MatchKind } from '../../src/engine/autocomplete/suggestion';
import { DictionaryFixture, entry } from '../support/dictionary-fixture';
import { DictionaryModel, type Expected } from '../support/dictionary-model';
import { allListed, allPages, asExpected } from '../support/dictionary-questions';
import { TypoRecall } from '../support/typo-recall';
import { sayMeasured } from '../support/measured';
import { nameGenerator, seeded, withTypos } from '../support/name-generator';

const SEED = 20_261_121;
const NAMES = 8_000;
const PROFILE = { accents: 'dropped', typos: true } as const;
const WITHOUT_TYPOS: readonly MatchKind[] = ['exact', 'prefix', 'word-prefix', 'suffix', 'contains'];
/** At least this share of the typos must be found. The search is bounded, so it may miss some of them. */
const LEAST_RECALL = 0.9;
const MOST_PAGES = 10;

let fixture: DictionaryFixture;
beforeAll(async () => {
  fixture = await DictionaryFixture.open();
});
afterAll(() => fixture?.close());

/** Imports the entries into a new dictionary and into a model. */
async function imported(entries: readonly Entry[]): Promise<{ name: string; model: DictionaryModel }> {
  const name = fixture.name();
  const model = new DictionaryModel(PROFILE);
  const session = await fixture.engine.startImport(name, PROFILE);
  for (let i = 0; i < entries.length; i += 1000) await session.put(entries.slice(i, i + 1000));
  await session.commit(entries.length);
  for (const one of entries) model.put(one);
  return { name, model };
}

/** The found matches, each once, in the order of kind and score. Ties keep the order in which they were found. */
function inRank(matching: readonly Expected[], found: readonly Expected[]): Expected[] {
  const ids = [...new Set(found.map(({ entryId }) => entryId))];
  return ids
    .flatMap((id) => matching.find(({ entryId }) => entryId === id) ?? [])
    .sort(
      (a, b) => MATCH_KINDS.indexOf(a.kind) - MATCH_KINDS.indexOf(b.kind) || (b.score ?? 0) - (a.score ?? 0),
    );
}

/**
 * Compares the first pages of a query with the model. Returns true if a page was cut short. Such a page must contain
 * only matches, each once, with better kinds and scores first.
 */
async function compare(
  { name, model }: { name: string; model: DictionaryModel },
  query: string,
  kinds: readonly MatchKind[],
  pageSize: number,
): Promise<boolean> {
  const matching = model.suggest({ query, kinds });
  const expected = matching.slice(0, MOST_PAGES * pageSize);
  const found: Expected[] = [];
  let cut = false;
  let pageToken = '';
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const asked = { dictionary: name, query, kinds, pageSize, pageToken, recentsList: '' };
    const answer = await fixture.engine.suggest(asked);
    found.push(...answer.suggestions.map(asExpected));
    pageToken = answer.nextPageToken;
    cut = answer.partial;
    if (pageToken === '' || cut) break;
  }
  const wanted = cut ? inRank(matching, found) : expected;
  expect({ query, kinds, pageSize, cut, found }).toEqual({ query, kinds, pageSize, cut, found: wanted });
  return cut;
}

describe(`a dictionary of ${NAMES} names (seed ${SEED})`, () => {
  const random = seeded(SEED);
  const nameOf = nameGenerator(random);
  let name: string;
  let model: DictionaryModel;
  let entries: Entry[];
  beforeAll(async () => {
    entries = Array.from({ length: NAMES }, (_, i) =>
      entry(`id ${i}`, nameOf(), {
        weight: random(4) === 0 ? random(100_000) : 0,
        aliases: random(10) === 0 ? [nameOf()] : [],
      }),
    );
    ({ name, model } = await imported(entries));
  }, 120_000);

  const someText = () => [...(entries[random(NAMES)]?.text ?? '')];

  it('keeps its stored lists consistent when they have several parts', async () => {
    expect(model.suggest({ query: 'an', kinds: ['prefix'] }).length).toBeGreaterThan(1000);
    expect(await fixture.checkAtRest(name)).toEqual([]);
  }, 120_000);

  it('gives the same answers as the model', async () => {
    let cut = 0;
    for (let i = 0; i < 100; i += 1) {
      const text = someText();
      const at = random(2) === 0 ? 0 : random(text.length);
      const query = text.slice(at, at + random(12)).join('');
      if (await compare({ name, model }, query, WITHOUT_TYPOS, 1 + random(20))) cut += 1;
    }
    sayMeasured(`${NAMES} names: ${cut} of 100 answers cut short`);
  }, 60_000);

  it.each([
    [5, 1],
    [7, 1],
    [9, 2],
    [12, 2],
  ])('finds words of %d letters that are typed with up to %d errors', async (length, slips) => {
    const recall = new TypoRecall();
    let cut = 0;
    for (let i = 0; i < 40; i += 1) {
      const typed = someText().slice(0, length).join('');
      const query = withTypos(typed, 1 + random(slips), random);
      const asked = { dictionary: name, query, kinds: ['typo'] as const, pageSize: 100, pageToken: '' };
      const answer = await fixture.engine.suggest({ ...asked, recentsList: '' });
      const found = answer.suggestions.map(asExpected);
      const expected = model.suggest({ query, kinds: ['typo'] });
      const shown = new Set(found.map(({ entryId }) => entryId));
      const right = expected.filter(({ entryId }) => shown.has(entryId));
      expect({ query, found }).toEqual({ query, found: right });
      if (answer.partial) cut += 1;
      // The first page of a long answer does not show which matches are missing.
      else if (answer.nextPageToken === '') recall.compare(query, found, expected);
    }
    sayMeasured(`${NAMES} names, ${length} letters: ${recall}, ${cut} of 40 answers cut short`);
    expect({ enough: recall.recall >= LEAST_RECALL, missed: recall.missed }).toMatchObject({ enough: true });
  });

  it('shows each match once and in order over all pages while entries are added', async () => {
    const query = 'isson';
    const before = model.suggest({ query, kinds: WITHOUT_TYPOS }).map(({ entryId }) => entryId);
    expect(before.length).toBeGreaterThan(20);
    let added = 0;
    const asked = { dictionary: name, query, kinds: WITHOUT_TYPOS, pageSize: 3 };
    const found = await allPages(fixture.engine, asked, async () => {
      added += 1;
      const weight = random(100_000);
      await fixture.engine.putEntries(name, [entry(`new ${added}`, `${nameOf()} isson`, { weight })]);
    });
    const known = new Set(before);
    expect(added).toBeGreaterThan(5);
    expect(found.map(({ entryId }) => entryId).filter((id) => known.has(id))).toEqual(before);
    await fixture.engine.deleteEntries(
      name,
      Array.from({ length: added }, (_, i) => `new ${i + 1}`),
    );
  });

  it('lists all entries in order over all pages while entries are added', async () => {
    const before = model.list('m', 'mb').map(({ entryId, text }) => ({ entryId, text: model.fold(text) }));
    expect(before.length).toBeGreaterThan(200);
    let added = 0;
    const listed = await allListed(
      fixture.engine,
      { dictionary: name, from: 'M', to: 'mb', pageSize: 97 },
      async () => {
        added += 1;
        await fixture.engine.putEntries(name, [entry(`more ${added}`, `Ma${nameOf()}`)]);
      },
    );
    const known = new Set(before.map(({ entryId }) => entryId));
    const found = listed.filter(({ entryId }) => known.has(entryId));
    expect(found.map(({ text }) => model.fold(text))).toEqual(before.map(({ text }) => text));
    expect(new Set(found.map(({ entryId }) => entryId))).toEqual(known);
    expect(found).toHaveLength(known.size);
  });
});

describe('a dictionary of similar entries', () => {
  const everything = ['', 'j', 'jo', 'john', 'john smith', 'smith', 's', 'th', 'mit', 'hn sm', 'zzz'];

  it.each([
    [
      'of equal weights in the order of texts',
      Array.from({ length: 600 }, (_, i) =>
        entry(`id ${i}`, `john ${String.fromCharCode(97 + (i % 26))} smith ${i % 7}`),
      ),
    ],
    [
      'of equal texts in the order of ids',
      Array.from({ length: 300 }, (_, i) => entry(`id ${i}`, 'john smith')),
    ],
    [
      'of mostly equal texts and weights',
      Array.from({ length: 300 }, (_, i) =>
        entry(`id ${i}`, 'John Smith', { weight: i % 3, aliases: i % 5 === 0 ? ['johnny smith'] : [] }),
      ),
    ],
    [
      'with a common beginning of 500 bytes',
      Array.from({ length: 300 }, (_, i) =>
        entry(`id ${i}`, `${'john smith'.repeat(50)} ${(i * 7919) % 1000}`),
      ),
    ],
    [
      'with a common end of 500 bytes',
      Array.from({ length: 300 }, (_, i) =>
        entry(`id ${i}`, `${(i * 7919) % 1000} ${'john smith'.repeat(50)}`),
      ),
    ],
  ])('gives the same answers as the model for entries %s', async (_what, entries) => {
    const { name, model } = await imported(entries);
    const longest = entries.slice(0, 3).map(({ text }) => text);
    for (const query of [...everything, ...longest, 'john smith'.repeat(49)]) {
      for (const [kinds, pageSize] of [
        [WITHOUT_TYPOS, 10],
        [['contains'] as const, 100],
        [['word-prefix', 'suffix'] as const, 33],
      ] as const) {
        await compare({ name, model }, query, kinds, pageSize);
      }
    }
    expect(await fixture.checkAtRest(name)).toEqual([]);
  });
});
