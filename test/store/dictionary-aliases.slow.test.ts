import { DictionaryFixture, entry, NOW, storedOf } from '../support/autocomplete/dictionary-fixture';
import type { Entry } from '../../src/autocomplete/suggestion';
import { eventually } from '../support/eventually';
import { nameGenerator, seeded } from '../support/autocomplete/dictionary-texts';

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
  const line = (what: string, ms: number) => lines.push(`${what.padEnd(48)} ${ms.toFixed(0).padStart(8)} ms`);
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
