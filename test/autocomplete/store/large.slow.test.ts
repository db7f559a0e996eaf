import type { Entry, MatchKind } from '../../../src/autocomplete/suggestion';
import {
  allListed,
  allPages,
  asExpected,
  DictionaryFixture,
  type EngineOfPage,
  entry,
  NOW,
  storedOf,
} from '../../support/autocomplete/dictionary-fixture';
import { compare, DictionaryModel } from '../../support/autocomplete/dictionary-model';
import { nameGenerator, seeded, withTypos } from '../../support/autocomplete/dictionary-texts';
import { eventually } from '../../support/eventually';

describe('large dictionaries', () => {
  const SEED = 20_261_121;
  const NAMES = 200_000;
  const PROFILE = { accents: 'dropped', typos: true } as const;
  const WITHOUT_TYPOS: readonly MatchKind[] = ['exact', 'prefix', 'word-prefix', 'suffix', 'contains'];
  /** An engine is asked for pages until this number of suggestions. */
  const DEEP = 2000;

  let fixture: DictionaryFixture;
  beforeAll(async () => {
    fixture = await DictionaryFixture.open();
  });
  afterAll(() => fixture?.close());

  /** The two servers answer the pages in turn. */
  const inTurn: EngineOfPage = (page) => (page % 2 === 0 ? fixture.engine : fixture.otherEngine);

  /** Imports the entries into a new dictionary and into a model. */
  async function imported(entries: readonly Entry[]): Promise<{ name: string; model: DictionaryModel }> {
    const name = fixture.name();
    const model = new DictionaryModel(PROFILE);
    const session = await fixture.engine.startImport(name, PROFILE);
    for (let i = 0; i < entries.length; i += 1000) await session.put(storedOf(...entries.slice(i, i + 1000)));
    await session.commit(entries.length);
    for (const one of entries) model.put(one);
    return { name, model };
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
    }, 240_000);

    const someText = () => [...(entries[random(NAMES)]?.text ?? '')];

    async function expectPages(
      query: string,
      kinds: readonly MatchKind[],
      pageSize: number,
    ): Promise<number> {
      const asked = { dictionary: name, query, kinds, pageSize };
      const found: ReturnType<typeof asExpected>[] = [];
      let pageToken = '';
      for (let page = 0; found.length < DEEP; page += 1) {
        const request = { ...asked, pageToken, recentsList: '', asked: NOW };
        const answer = await inTurn(page).suggest(request);
        found.push(...answer.suggestions.map(asExpected));
        pageToken = answer.nextPageToken;
        if (pageToken === '') break;
      }
      const matching = model.suggest({ query, kinds });
      expect({ query, kinds, found }).toEqual({ query, kinds, found: matching.slice(0, found.length) });
      if (pageToken === '') expect(found).toHaveLength(matching.length);
      return found.length;
    }

    it('has consistent keys', async () => {
      expect(await fixture.checkAtRest(name)).toEqual([]);
    }, 120_000);

    it('answers the first pages and deep pages as the model does', async () => {
      let deep = 0;
      for (let i = 0; i < 20; i += 1) {
        const text = someText();
        const at = random(2) === 0 ? 0 : random(text.length);
        const query = text.slice(at, at + random(9)).join('');
        if ((await expectPages(query, WITHOUT_TYPOS, 20 + random(80))) >= DEEP) deep += 1;
      }
      expect(deep).toBeGreaterThan(0);
    }, 240_000);

    it.each([
      [5, 1],
      [9, 2],
    ])(
      'finds all words of %d letters that are typed with up to %d errors',
      async (length, slips) => {
        for (let i = 0; i < 8; i += 1) {
          const query = withTypos(someText().slice(0, length).join(''), 1 + random(slips), random);
          await expectPages(query, ['typo'], 100);
        }
      },
      240_000,
    );

    it('shows each match once and in order over all pages while entries are added', async () => {
      const query = 'isson';
      const before = model.suggest({ query, kinds: WITHOUT_TYPOS }).map(({ entryId }) => entryId);
      const pageSize = Math.ceil(before.length / 20);
      let added = 0;
      const asked = { dictionary: name, query, kinds: WITHOUT_TYPOS, pageSize };
      const found = await allPages(inTurn, asked, async () => {
        added += 1;
        const weight = random(100_000);
        await fixture.engine.putEntries(
          name,
          storedOf(entry(`new ${added}`, `${nameOf()} isson`, { weight })),
        );
      });
      const known = new Set(before);
      expect(added).toBeGreaterThan(5);
      expect(found.map(({ entryId }) => entryId).filter((id) => known.has(id))).toEqual(before);
      const ids = Array.from({ length: added }, (_, i) => `new ${i + 1}`);
      await fixture.engine.deleteEntries(name, ids);
    });

    it('lists all entries in order over all pages while entries are added', async () => {
      const before = model.list('m', 'mb').map(({ entryId }) => entryId);
      let added = 0;
      const asked = { dictionary: name, from: 'M', to: 'mb', pageSize: 500 };
      const listed = await allListed(inTurn, asked, async () => {
        added += 1;
        await fixture.engine.putEntries(name, storedOf(entry(`more ${added}`, `Ma${nameOf()}`)));
      });
      const known = new Set(before);
      expect(listed.map(({ entryId }) => entryId).filter((id) => known.has(id))).toEqual(before);
      const texts = listed.map(({ text }) => model.fold(text));
      expect(texts).toEqual([...texts].sort(compare));
    });

    it('has no memory after its index was dropped, and is loaded again with the same answers', async () => {
      for (const { indexes } of fixture.servers) {
        expect(indexes.stateOf(name).memoryBytes).toBeGreaterThan(NAMES * 18);
        indexes.forget(name);
        await eventually('no memory in use', () => indexes.usedBytes === 0);
      }
      const asked = { dictionary: name, query: 'isson', pageSize: 1000 };
      const [first, second] = await Promise.all(
        fixture.servers.map(({ engine }) => allPages(() => engine, asked)),
      );
      expect(first?.map(({ entryId }) => entryId)).toEqual(second?.map(({ entryId }) => entryId));
      expect(first?.length).toBeGreaterThan(0);
      expect(fixture.defects).toEqual([]);
    }, 120_000);
  });
});

describe('a dictionary with many aliases', () => {
  /** Queries beside the load of a dictionary with many aliases. Prints what they got, and when. */

  const MIB = 2 ** 20;
  const SEED = 20_261_128;
  const ALIASES = 16;
  const HUGE = 20_000;
  const FEW_MIB = 2500;
  const SMALL = 500;
  /** Queries of a loaded dictionary, one after another. */
  const ASK_EVERY_MS = 50;

  let fixture: DictionaryFixture;
  beforeAll(async () => {
    fixture = await DictionaryFixture.open({ memoryBytes: 1024 * MIB });
  });
  afterAll(() => fixture?.close());

  const random = seeded(SEED);
  const nameOf = nameGenerator(random);
  const longText = () => [nameOf(), nameOf(), nameOf()].join(' of ');

  /** Entries with 16 long aliases, of which half are the same in many entries. */
  function entriesOf(count: number): Entry[] {
    const common = Array.from({ length: 100 }, longText);
    return Array.from({ length: count }, (_, n) =>
      entry(`id ${n}`, longText(), {
        aliases: Array.from({ length: ALIASES }, (__, alias) =>
          alias % 2 === 0 ? (common[(n * 7 + alias) % common.length] as string) : longText(),
        ),
      }),
    );
  }

  async function imported(count: number): Promise<string> {
    const name = fixture.name();
    const session = await fixture.engine.startImport(name, { accents: 'kept', typos: true });
    const entries = entriesOf(count);
    for (let i = 0; i < count; i += 500) await session.put(storedOf(...entries.slice(i, i + 500)));
    await session.commit(count);
    return name;
  }

  test('other dictionaries are loaded and answer while one with many aliases is being loaded', async () => {
    const [huge, fewMib, small, loaded] = [
      await imported(HUGE),
      await imported(FEW_MIB),
      await imported(SMALL),
      await imported(SMALL),
    ];
    const { otherEngine: engine, other } = fixture;
    const lines: string[] = [];
    /** The time of the first answer (ms). */
    const ask = async (dictionary: string): Promise<number> => {
      const from = performance.now();
      const asked = { dictionary, query: 'a', kinds: [], pageSize: 10, pageToken: '', recentsList: '' };
      const { suggestions } = await engine.suggest({ ...asked, asked: NOW });
      expect(suggestions).not.toEqual([]);
      return performance.now() - from;
    };
    const line = (what: string, ms: number) =>
      lines.push(`${what.padEnd(48)} ${ms.toFixed(0).padStart(8)} ms`);
    await ask(loaded);

    let isLoaded = false;
    const loading = ask(huge).finally(() => (isLoaded = true));
    await eventually('the load', () => other.indexes.stateOf(huge).loadState === 'loading');
    const answers: number[] = [];
    const asking = (async () => {
      while (!isLoaded) {
        answers.push(await ask(loaded));
        await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
      }
    })();
    line(`first answer of ${SMALL} entries meanwhile`, await ask(small));
    expect(isLoaded).toBe(false);
    line(`first answer of ${FEW_MIB} entries meanwhile`, await ask(fewMib));
    const isLoadedFirst = isLoaded;
    line(`first answer of ${HUGE} entries, ${ALIASES} aliases each`, await loading);
    await asking;
    line(`most of ${answers.length} answers of a loaded one meanwhile`, Math.max(...answers));
    process.stdout.write(`${lines.join('\n')}\n`);
    expect(isLoadedFirst).toBe(false);
    expect(other.indexes.stateOf(loaded).loadState).toBe('ready');
    expect(fixture.defects).toEqual([]);
  }, 400_000);
});
