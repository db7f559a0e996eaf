import { systemClock } from '../../../src/base/clock';
import { type LoadedDictionaries, openIndexes } from '../../../src/autocomplete/loaded/loaded-dictionaries';
import type { Entry, MatchKind } from '../../../src/autocomplete/suggestion';
import { LoadedDictionary } from '../../../src/autocomplete/loaded/loaded-dictionary';
import { IndexThread } from '../../../src/autocomplete/loaded/thread-calls';
import { Slices } from '../../../src/flow/turns';
import { eventually } from '../../support/eventually';
import { ModelEntryStore } from '../../support/autocomplete/model-entry-store';

const MIB = 2 ** 20;
const NAME = 'people';
const NOW = { maxStalenessMs: 0, patienceMs: 20_000, caller: undefined };

let indexes: LoadedDictionaries | undefined;
const defects: unknown[] = [];
const warnings: string[] = [];

afterEach(async () => {
  indexes?.close();
  // No layer, no table and no build keeps memory.
  await eventually('no memory in use', () => (indexes?.usedBytes ?? 0) === 0);
  indexes = undefined;
  expect(defects.splice(0)).toEqual([]);
  expect(warnings.splice(0)).toEqual([]);
});

function open(store: ModelEntryStore): void {
  indexes = openIndexes({
    store,
    budgetBytes: 64 * MIB,
    coreCount: 2,
    clock: systemClock,
    onDefect: (error) => void defects.push(error),
    onWarning: (text) => void warnings.push(text),
  });
}

function entry(entryId: string, text: string, weight = 0): Entry {
  return { entryId, text, aliases: [], weight, payload: new Uint8Array() };
}

function storeOf(...entries: Entry[]): ModelEntryStore {
  const store = new ModelEntryStore({ accents: 'kept', typos: true });
  if (entries.length > 0) store.put(...entries);
  return store;
}

async function ask(query: string): Promise<string[]> {
  const kinds: MatchKind[] = [];
  const { entries } = await indexes!.rank(NAME, { query, kinds, limit: 10, after: undefined }, NOW);
  return entries.map(({ entryId, kind, score }) => `${entryId} ${kind} ${score}`);
}

test('loads a small dictionary by one read of the primary', async () => {
  const store = storeOf(entry('1', 'Anna'), entry('22', 'Bob'));
  store.select('1', 3);
  store.bucketsAtStart = 4;
  open(store);
  expect(await ask('')).toEqual(['1 prefix 3', '22 prefix 0']);
  expect(store.commands).toEqual(['startLoad']);
  store.put(entry('3', 'Carl', 1));
  expect(await ask('')).toEqual(['1 prefix 3', '3 prefix 1', '22 prefix 0']);
});

test('builds a very small dictionary without another thread', async () => {
  const calls = jest.spyOn(IndexThread.prototype, 'call');
  const store = storeOf(...Array.from({ length: 1000 }, (_, n) => entry(`${n}`, `name ${n}`)));
  store.bucketsAtStart = 4;
  open(store);
  expect((await ask('name 999'))[0]).toBe('999 exact 0');
  expect(calls).not.toHaveBeenCalled();
  calls.mockRestore();
});

test('reads the latest writes at the primary after a load by a replica', async () => {
  const store = storeOf(entry('1', 'Anna'));
  store.bucketsAtStart = 4;
  store.source = 'replica';
  open(store);
  store.before = (command) => {
    if (command === 'writesAfter') store.put(entry('2', 'Bob'));
  };
  expect(await ask('')).toEqual(['1 prefix 0', '2 prefix 0']);
  expect(store.commands).toEqual(['startLoad', 'writesAfter']);
});

test('reads the remaining buckets after the first buckets', async () => {
  const store = storeOf(entry('1', 'Anna'), entry('22', 'Bob'), entry('333', 'Carl'));
  store.bucketsAtStart = 2;
  open(store);
  expect(await ask('')).toEqual(['1 prefix 0', '22 prefix 0', '333 prefix 0']);
  expect(store.commands).toEqual(['startLoad', 'readBuckets', 'readBuckets', 'writesAfter']);
});

test('searches no copy that was evicted just before the search', async () => {
  const store = storeOf(entry('1', 'Anna'));
  open(store);
  const unload = jest.spyOn(LoadedDictionary.prototype, 'checkedCopy').mockImplementationOnce(async function (
    this: LoadedDictionary,
    patience,
  ) {
    const copy = await this.checkedCopy(patience);
    this.unload();
    return copy;
  });
  expect(await ask('')).toEqual(['1 prefix 0']);
  expect(store.commands.filter((command) => command === 'startLoad')).toHaveLength(2);
  unload.mockRestore();
});

test('adds many small writes to the first layer in slices', async () => {
  const store = storeOf(entry('first', 'zero'));
  store.writesPerRead = 1000;
  open(store);
  await ask('');
  const isOver = jest.spyOn(Slices.prototype, 'isOver', 'get').mockReturnValue(true);
  const pause = jest.spyOn(Slices.prototype, 'pause');
  store.put(...Array.from({ length: 500 }, (_, n) => entry(`id ${n}`, `name ${n}`)));
  expect(await ask('name 499')).toContain('id 499 exact 0');
  // Each entry is found in older layers, and then added to the first layer.
  expect(pause.mock.calls.length).toBeGreaterThanOrEqual(1000);
  isOver.mockRestore();
  pause.mockRestore();
});
