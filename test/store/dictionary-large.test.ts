import type { Entry, MatchKind } from '../../src/engine/suggestion';
import { DictionaryFixture, entry } from '../support/dictionary-fixture';
import { DictionaryModel, type Expected } from '../support/dictionary-model';
import { allListed, allPages, asExpected } from '../support/dictionary-questions';
import { sayMeasured } from '../support/measured';
import { nameGenerator, seeded, slipped } from '../support/name-generator';

const SEED = 20_261_121;
const NAMES = 20_000;
const PROFILE = { accents: 'dropped', typos: true } as const;
const WITHOUT_TYPOS: readonly MatchKind[] = ['exact', 'prefix', 'word-prefix', 'suffix', 'contains'];
/** Typos are looked for in bounded time: this often they must be found, by how long the query is. */
const LEAST_RECALL = 0.9;

let on: DictionaryFixture;
beforeAll(async () => {
  on = await DictionaryFixture.open();
});
afterAll(() => on?.close());

/** A dictionary with these, imported at once, and the model with the same. */
async function imported(entries: readonly Entry[]): Promise<{ name: string; model: DictionaryModel }> {
  const name = on.name();
  const model = new DictionaryModel(PROFILE);
  const session = await on.engine.startImport(name, PROFILE);
  for (let i = 0; i < entries.length; i += 1000) await session.put(entries.slice(i, i + 1000));
  await session.commit(entries.length);
  for (const one of entries) model.put(one);
  return { name, model };
}

describe(`a dictionary of ${NAMES} names (seed ${SEED})`, () => {
  const random = seeded(SEED);
  let name: string;
  let model: DictionaryModel;
  let entries: Entry[];
  beforeAll(async () => {
    const next = nameGenerator(random);
    entries = Array.from({ length: NAMES }, (_, i) =>
      entry(`id ${i}`, next(), {
        weight: random(4) === 0 ? random(100_000) : 0,
        aliases: random(10) === 0 ? [next()] : [],
      }),
    );
    ({ name, model } = await imported(entries));
  }, 120_000);

  const someText = () => [...(entries[random(NAMES)]?.text ?? '')];

  /**
   * Ten pages at most, for whole answers to short queries are most of the dictionary. One that is cut short may end
   * early, but what is there must be in order and without a gap. Returns whether it was cut short.
   */
  async function compare(query: string, kinds: readonly MatchKind[], pageSize: number): Promise<boolean> {
    const expected = model.suggest({ query, kinds }).slice(0, 10 * pageSize);
    const found: Expected[] = [];
    let cut = false;
    let pageToken = '';
    for (let page = 0; page < 10; page += 1) {
      const asked = { dictionary: name, query, kinds, pageSize, pageToken, recentsList: '' };
      const answer = await on.engine.suggest(asked);
      found.push(...answer.suggestions.map(asExpected));
      pageToken = answer.nextPageToken;
      cut = answer.partial;
      if (pageToken === '' || cut) break;
    }
    const wanted = cut ? expected.slice(0, found.length) : expected;
    expect({ query, kinds, pageSize, cut, found }).toEqual({ query, kinds, pageSize, cut, found: wanted });
    return cut;
  }

  it('has lists of several parts, and agrees with itself', async () => {
    expect(model.suggest({ query: 'an', kinds: ['prefix'] }).length).toBeGreaterThan(1000);
    expect(await on.checkAtRest(name)).toEqual([]);
  }, 120_000);

  it('answers as the model', async () => {
    let cut = 0;
    for (let i = 0; i < 100; i += 1) {
      const text = someText();
      const at = random(2) === 0 ? 0 : random(text.length);
      const query = text.slice(at, at + random(12)).join('');
      if (await compare(query, WITHOUT_TYPOS, 1 + random(20))) cut += 1;
    }
    sayMeasured(`${NAMES} names: ${cut} of 100 answers cut short`);
  }, 60_000);
});
