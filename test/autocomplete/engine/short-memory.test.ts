import { type LoadedDictionaries, openIndexes } from '../../../src/autocomplete/loaded/loaded-dictionaries';
import { unpackRecord } from '../../../src/autocomplete/record';
import type { Entry } from '../../../src/autocomplete/suggestion';
import { eventually } from '../../support/eventually';
import { ManualClock } from '../../support/manual-clock';
import { ModelEntryStore } from '../../support/autocomplete/model-entry-store';

const MIB = 2 ** 20;
const NAME = 'people';
const NOW = { maxStalenessMs: 0, patienceMs: 20_000, caller: undefined };
const ENTRY_COUNT = 8000;

let indexes: LoadedDictionaries | undefined;
let clock: ManualClock;
const defects: unknown[] = [];
const warnings: string[] = [];

afterEach(async () => {
  await close();
  warnings.length = 0;
  expect(defects.splice(0)).toEqual([]);
});

async function close(): Promise<void> {
  indexes?.close();
  await eventually('no memory in use', () => (indexes?.usedBytes ?? 0) === 0);
  indexes = undefined;
}

function open(store: ModelEntryStore, budgetBytes: number): void {
  clock = new ManualClock(1_000_000);
  indexes = openIndexes({
    store,
    budgetBytes,
    coreCount: 2,
    clock,
    onDefect: (error) => void defects.push(error),
    onWarning: (text) => void warnings.push(text),
    layerLimits: { firstLayerBytes: 4096, mostBytesHere: 4096 },
  });
}

function entriesOf(from: number, count: number, text = 'name'): Entry[] {
  return Array.from({ length: count }, (_, n) => {
    const number = (from + n) % ENTRY_COUNT;
    return {
      entryId: `id ${number}`,
      text: `${text} ${number}`,
      aliases: [],
      weight: 0,
      payload: new Uint8Array(),
    };
  });
}

function storeOf(entries: readonly Entry[]): ModelEntryStore {
  const store = new ModelEntryStore({ accents: 'kept', typos: true });
  store.writesPerRead = 100;
  store.put(...entries);
  return store;
}

async function ask(query: string): Promise<string[]> {
  const { entries } = await indexes!.rank(NAME, { query, kinds: [], limit: 3, after: undefined }, NOW);
  return entries.map(({ entryId }) => entryId);
}

/** The bytes that a load needs in the end, by the error of a load with too little memory. */
async function bytesOfLoad(store: ModelEntryStore): Promise<number> {
  open(store, 3 * MIB);
  const error = await ask('').then(
    () => new Error('the dictionary was loaded'),
    (failure: unknown) => failure as Error,
  );
  await close();
  return Number(/at least (\d+) bytes/.exec(error.message)?.[1]);
}

async function allTexts(): Promise<string[]> {
  const texts: string[] = [];
  let after: Parameters<LoadedDictionaries['list']>[1]['after'];
  do {
    const page = await indexes!.list(NAME, { from: '', to: '', limit: 2000, after }, NOW);
    texts.push(...page.entries.map(({ text }) => text));
    after = page.next;
  } while (after);
  return texts;
}

function textsOf(store: ModelEntryStore): string[] {
  return [...(store.state?.entries.values() ?? [])].map(({ record }) => unpackRecord(record).text).sort();
}

function loadsOf(store: ModelEntryStore): number {
  return store.commands.filter((command) => command === 'startLoad').length;
}

/** Overwrites `count` entries in small writes. Queries apply the writes one by one. Texts of 4 letters keep the size. */
async function overwrite(store: ModelEntryStore, count: number, text: string): Promise<void> {
  for (let from = 0; from < count; from += 250) {
    store.put(...entriesOf(from, 250, text));
    await ask(text);
  }
}

test('keeps answering without a new load if a merge of all layers does not fit into the memory', async () => {
  const store = storeOf(entriesOf(0, ENTRY_COUNT));
  open(store, (await bytesOfLoad(store)) + MIB);
  await ask('');
  store.commands.length = 0;
  for (let round = 0; round < 4; round += 1) {
    await overwrite(store, ENTRY_COUNT / 2, `text ${round}`);
    clock.pass(120_000);
  }
  expect(await allTexts()).toEqual(textsOf(store));
  expect(loadsOf(store)).toBe(0);
  expect(warnings).toEqual([]);
});

test('reloads a copy that cannot grow, at most once in a pause, and warns the operator', async () => {
  const store = storeOf(entriesOf(0, ENTRY_COUNT));
  open(store, await bytesOfLoad(store));
  await ask('');
  store.commands.length = 0;
  const warned = async (count: number) => {
    for (let round = 0; warnings.length < count && round < 20; round += 1) {
      await overwrite(store, ENTRY_COUNT, round % 2 === 0 ? 'even' : 'odds');
    }
    expect(warnings).toHaveLength(count);
    await ask('');
    expect(loadsOf(store)).toBe(count);
  };
  await warned(1);
  expect(warnings[0]).toMatch(
    /^dictionary "people" has no memory: it was unloaded, .* needs at least \d+ bytes, .* HOLDFAST_DICTIONARY_MEMORY$/,
  );
  // The manual clock stands still, so the pause lasts.
  await overwrite(store, ENTRY_COUNT, 'last');
  await overwrite(store, ENTRY_COUNT, 'rest');
  expect(await allTexts()).toEqual(textsOf(store));
  expect(loadsOf(store)).toBe(1);
  clock.pass(1000);
  await warned(2);
});

test('answers QUOTA_EXCEEDED without the store for some time after a load that does not fit', async () => {
  const store = storeOf(entriesOf(0, ENTRY_COUNT));
  open(store, MIB);
  const refused = { reason: 'QUOTA_EXCEEDED', details: { retryAfterMs: 'never' } };
  await expect(ask('')).rejects.toMatchObject(refused);
  store.commands.length = 0;
  await expect(ask('')).rejects.toMatchObject(refused);
  expect(store.commands).toEqual([]);
  clock.pass(1000);
  await expect(ask('')).rejects.toMatchObject(refused);
  expect(loadsOf(store)).toBe(1);
  // The second pause is longer.
  store.replaceAll(new Map([['1', entriesOf(1, 1)[0]!]]));
  clock.pass(1999);
  await expect(ask('')).rejects.toMatchObject(refused);
  clock.pass(1);
  expect(await ask('')).toEqual(['1']);
});

test('frees the old generation before the new one is loaded if both do not fit, and warns the operator', async () => {
  const store = storeOf(entriesOf(0, ENTRY_COUNT));
  open(store, await bytesOfLoad(store));
  await ask('');
  store.replaceAll(new Map(entriesOf(0, ENTRY_COUNT, 'new').map((entry) => [entry.entryId, entry])));
  await indexes!.load(NAME, 20_000);
  expect(await allTexts()).toEqual(textsOf(store));
  expect(warnings).toEqual([
    expect.stringMatching(
      /^dictionary "people" has no memory: its old generation was unloaded before the new one is loaded; it needs at least \d+ bytes/,
    ),
  ]);
});

test('does not unload other dictionaries for a merge that does not fit without them', async () => {
  const store = storeOf(entriesOf(0, ENTRY_COUNT));
  const loadBytes = await bytesOfLoad(store);
  open(store, loadBytes);
  await ask('');
  const { memoryBytes } = indexes!.stateOf(NAME);
  await close();
  open(store, loadBytes + memoryBytes + MIB / 16);
  await indexes!.load('other', 20_000);
  await ask('');
  await overwrite(store, ENTRY_COUNT / 2, 'text');
  expect(indexes!.stateOf('other').loadState).toBe('ready');
  expect(indexes!.stateOf(NAME).loadState).toBe('ready');
});
