import { LayerBuilds } from '../../../src/autocomplete/loaded/builds';
import { IndexMemory } from '../../../src/autocomplete/loaded/index-memory';
import { LoadedDictionaries, openIndexes } from '../../../src/autocomplete/loaded/loaded-dictionaries';
import { LoadedDictionary } from '../../../src/autocomplete/loaded/loaded-dictionary';
import { CopySearch } from '../../../src/autocomplete/loaded/search';
import { IndexThread } from '../../../src/autocomplete/loaded/thread-calls';
import { unpackRecord } from '../../../src/autocomplete/record';
import type { Entry, MatchKind } from '../../../src/autocomplete/suggestion';
import { systemClock } from '../../../src/base/clock';
import { Slices } from '../../../src/flow/turns';
import { TestIndexThread } from '../../support/autocomplete/index-view';
import { ModelEntryStore } from '../../support/autocomplete/model-entry-store';
import { eventually } from '../../support/eventually';

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

function open(store: ModelEntryStore, budgetBytes = 64 * MIB): LoadedDictionaries {
  indexes = openIndexes({
    store,
    budgetBytes,
    coreCount: 2,
    clock: systemClock,
    onDefect: (error) => void defects.push(error),
    onWarning: (text) => void warnings.push(text),
  });
  return indexes;
}

function entry(entryId: string, text: string, weight = 0): Entry {
  return { entryId, text, aliases: [], weight, payload: new Uint8Array() };
}

function storeOf(...entries: Entry[]): ModelEntryStore {
  const store = new ModelEntryStore({ accents: 'kept', typos: true });
  if (entries.length > 0) store.put(...entries);
  return store;
}

async function ask(query: string, asked = NOW, limit = 10): Promise<string[]> {
  const kinds: MatchKind[] = [];
  const { entries } = await indexes!.rank(NAME, { query, kinds, limit, after: undefined }, asked);
  return entries.map(({ entryId, kind, score }) => `${entryId} ${kind} ${score}`);
}

test('loads a dictionary when it is asked for, with selections', async () => {
  const store = storeOf(entry('1', 'Anna', 5), entry('2', 'Annabel'), entry('3', 'Bob'));
  store.select('2', 7);
  open(store);
  expect(indexes!.stateOf(NAME)).toEqual({ loadState: 'not-loaded', memoryBytes: 0 });
  expect(await ask('anna')).toEqual(['1 exact 5', '2 prefix 7']);
  expect(indexes!.stateOf(NAME)).toEqual({ loadState: 'ready', memoryBytes: expect.any(Number) });
});

test('answers with every write that ended before the query', async () => {
  const store = storeOf(entry('1', 'Anna'));
  open(store);
  await ask('');
  store.put(entry('2', 'Annette', 9));
  expect(await ask('ann')).toEqual(['2 prefix 9', '1 prefix 0']);
  store.select('1', 10);
  store.put(entry('2', 'Annika', 9));
  expect(await ask('ann')).toEqual(['1 prefix 10', '2 prefix 9']);
  expect(await ask('annette')).toEqual([]);
  store.delete('1');
  expect(await ask('ann')).toEqual(['2 prefix 9']);
});

test('reads the head once for all queries of a turn, and nothing else if nothing has changed', async () => {
  const store = storeOf(entry('1', 'Anna'));
  open(store);
  await ask('a');
  store.commands.length = 0;
  await Promise.all([ask('a'), ask('an'), ask('x'), ask('')]);
  expect(store.commands).toEqual(['head']);
});

test('answers from many writes together, which another thread has built', async () => {
  const store = storeOf(entry('first', 'zero'));
  store.writesPerRead = 1000;
  open(store);
  await ask('zero');
  const many = Array.from({ length: 5000 }, (_, n) => entry(`id ${n}`, `name ${n} of many`, n));
  store.put(...many);
  expect(await ask('name 4321', NOW, 1)).toEqual(['id 4321 prefix 4321']);
  expect(await ask('name', NOW, 2)).toEqual(['id 4999 prefix 4999', 'id 4998 prefix 4998']);
  expect(await ask('zero')).toEqual(['first exact 0']);
});

test('answers every query correctly while merges reduce the layers of many writes', async () => {
  const store = storeOf();
  store.writesPerRead = 100;
  open(store);
  for (let round = 0; round < 60; round += 1) {
    const entries = Array.from({ length: 50 }, (_, n) => {
      const id = (round * 37 + n * 11) % 900;
      return entry(`id ${id}`, `name ${id} ${'x'.repeat(30)} ${round}`, round);
    });
    store.put(...entries);
    if (round % 5 === 4) store.delete(...Array.from({ length: 9 }, (_, n) => `id ${round * 7 + n}`));
    const texts = await allTexts();
    expect(texts).toEqual(textsOf(store));
  }
});

async function allTexts(): Promise<string[]> {
  const texts: string[] = [];
  let after: Parameters<LoadedDictionaries['list']>[1]['after'];
  do {
    const page = await indexes!.list(NAME, { from: '', to: '', limit: 500, after }, NOW);
    texts.push(...page.entries.map(({ text }) => text));
    after = page.next;
  } while (after);
  return texts;
}

function textsOf(store: ModelEntryStore): string[] {
  return [...(store.state?.entries.values() ?? [])].map(({ record }) => unpackRecord(record).text).sort();
}

test('answers from the old generation with the new writes until the new generation is loaded', async () => {
  const store = storeOf(entry('1', 'old'));
  open(store);
  await ask('');
  let letThrough: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (letThrough = resolve));
  store.before = (command) => (command === 'readBuckets' ? held : undefined);
  store.replaceAll(new Map([['2', entry('2', 'new')]]));
  expect(await ask('')).toEqual(['1 prefix 0']);
  store.put(entry('3', 'newer'));
  expect(await ask('')).toEqual(['3 prefix 0', '1 prefix 0']);
  letThrough();
  await indexes!.load(NAME, 20_000);
  expect(await ask('')).toEqual(['2 prefix 0', '3 prefix 0']);
});

test('notices that the store went back to an earlier state, and never mixes two histories', async () => {
  const store = storeOf(entry('1', 'Anna'));
  const backup = store.state;
  open(store);
  await ask('');
  store.put(entry('2', 'lost'));
  expect(await ask('')).toEqual(['1 prefix 0', '2 prefix 0']);
  store.state = backup;
  expect(await ask('')).toEqual(['1 prefix 0']);
  store.put(entry('3', 'kept'));
  expect(await ask('')).toEqual(['1 prefix 0', '3 prefix 0']);
  store.state = backup;
  store.put(entry('4', 'other'));
  expect(await ask('')).toEqual(['1 prefix 0', '4 prefix 0']);
});

test('loads the dictionary again if the store has forgotten the writes in between', async () => {
  const store = storeOf(entry('1', 'Anna'));
  open(store);
  await ask('');
  for (let n = 2; n <= 9; n += 1) store.put(entry(`${n}`, `Bob ${n}`));
  store.keepWrites(2);
  expect(await ask('', NOW, 20)).toHaveLength(9);
});

test('begins a load again if the store goes back to an earlier state during the load', async () => {
  const store = storeOf(entry('1', 'Anna'));
  const backup = store.state;
  open(store);
  let reads = 0;
  store.before = (command) => {
    if (command !== 'readBuckets') return;
    reads += 1;
    if (reads === 1) store.put(entry('a', 'lost'));
    if (reads !== 3) return;
    store.state = backup;
    store.put(entry('22', 'other'));
  };
  expect(await ask('')).toEqual(['1 prefix 0', '22 prefix 0']);
});

test('answers within max_staleness without the store, also while the store is down', async () => {
  const store = storeOf(entry('1', 'Anna'));
  open(store);
  await ask('');
  const stale = { ...NOW, maxStalenessMs: 3_600_000 };
  store.commands.length = 0;
  store.put(entry('2', 'Annette'));
  expect(await ask('', stale)).toEqual(['1 prefix 0']);
  store.isDown = true;
  expect(await ask('', stale)).toEqual(['1 prefix 0']);
  expect(store.commands).toEqual([]);
  await expect(ask('')).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
  store.isDown = false;
  expect(await ask('')).toEqual(['1 prefix 0', '2 prefix 0']);
});

test('answers DICTIONARY_LOADING if a load takes longer than the caller can wait, and continues the load', async () => {
  const store = storeOf(entry('1', 'Anna'));
  let letThrough: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (letThrough = resolve));
  store.before = (command) => (command === 'readBuckets' ? held : undefined);
  open(store);
  const waiting = ask('');
  await expect(ask('', { ...NOW, patienceMs: 10 })).rejects.toMatchObject({ reason: 'DICTIONARY_LOADING' });
  expect(indexes!.stateOf(NAME).loadState).toBe('loading');
  letThrough();
  expect(await waiting).toEqual(['1 prefix 0']);
});

test('answers NO_SUCH_DICTIONARY for a dictionary that does not exist, also right after its deletion', async () => {
  const store = storeOf(entry('1', 'Anna'));
  open(store);
  await ask('');
  store.state = undefined;
  await expect(ask('')).rejects.toMatchObject({ reason: 'NO_SUCH_DICTIONARY' });
  expect(indexes!.stateOf(NAME)).toEqual({ loadState: 'not-loaded', memoryBytes: 0 });
});

test('answers QUOTA_EXCEEDED with the needed memory if a dictionary does not fit', async () => {
  const many = Array.from({ length: 20_000 }, (_, n) => entry(`id ${n}`, `name ${n}`));
  const store = storeOf(...many);
  open(store, MIB);
  await expect(ask('name')).rejects.toMatchObject({
    reason: 'QUOTA_EXCEEDED',
    message: expect.stringContaining('HOLDFAST_DICTIONARY_MEMORY'),
  });
  expect(indexes!.stateOf(NAME).memoryBytes).toBe(0);
});

test('frees the dictionary that was not used for the longest time if the memory is full', async () => {
  const many = Array.from({ length: 2000 }, (_, n) => entry(`id ${n}`, `name ${n}`));
  const store = storeOf(...many);
  open(store, MIB);
  const rank = (name: string) =>
    indexes!.rank(name, { query: 'name 77', kinds: [], limit: 1, after: undefined }, NOW);
  const names = ['used', ...Array.from({ length: 20 }, (_, n) => `name ${n}`)];
  for (const name of names) {
    await rank('used');
    expect((await rank(name)).entries).toMatchObject([{ entryId: 'id 77' }]);
  }
  const states = names.map((name) => indexes!.stateOf(name).loadState);
  expect(states[0]).toBe('ready');
  expect(states.at(-1)).toBe('ready');
  // The freed dictionaries are those that were used first.
  const lastFreed = states.lastIndexOf('not-loaded');
  expect(lastFreed).toBeGreaterThan(0);
  expect(states.slice(1, lastFreed)).toEqual(Array.from({ length: lastFreed - 1 }, () => 'not-loaded'));
  expect(indexes!.usedBytes).toBeLessThanOrEqual(MIB);
});

test('builds again in a new thread if the thread of a build ends', async () => {
  const store = storeOf(entry('1', 'Anna'));
  const thread = new TestIndexThread();
  const memory = new IndexMemory(MIB);
  indexes = new LoadedDictionaries({
    store,
    memory,
    builds: new LayerBuilds({ here: thread, small: thread, medium: thread, large: thread }, memory),
    search: new CopySearch(thread),
    clock: systemClock,
    onDefect: (error) => void defects.push(error),
    onWarning: (text) => void warnings.push(text),
    onClose: () => void thread.close(),
  });
  let reads = 0;
  store.before = async (command) => {
    if (command === 'readBuckets' && (reads += 1) === 2) await thread.lose();
  };
  await expect(ask('')).rejects.toMatchObject({ reason: 'DICTIONARY_LOADING' });
  expect(indexes.stateOf(NAME).loadState).toBe('failed');
  expect(await ask('')).toEqual(['1 prefix 0']);
});

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
