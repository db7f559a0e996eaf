import { CopySearch } from '../../../src/autocomplete/loaded/search';
import { IndexMemory } from '../../../src/autocomplete/loaded/index-memory';
import { LayerBuilds } from '../../../src/autocomplete/loaded/builds';
import { LoadedDictionaries } from '../../../src/autocomplete/loaded/loaded-dictionaries';
import type { Head } from '../../../src/autocomplete/entry-store';
import type { Entry } from '../../../src/autocomplete/suggestion';
import { StoreFailure } from '../../../src/base/errors';
import { eventually } from '../../support/eventually';
import { ManualClock, settled } from '../../support/manual-clock';
import { ModelEntryStore } from '../../support/autocomplete/model-entry-store';
import { TestIndexThread } from '../../support/autocomplete/index-view';

const NAME = 'people';
const NOW = { maxStalenessMs: 0, patienceMs: 20_000, caller: undefined };

const defects: unknown[] = [];
let indexes: LoadedDictionaries;
let clock: ManualClock;
let thread: TestIndexThread;
let store: ModelEntryStore;

beforeEach(async () => {
  clock = new ManualClock(1_000_000);
  thread = new TestIndexThread();
  store = new ModelEntryStore({ accents: 'kept', typos: true });
  store.put(entry('old'));
  const memory = new IndexMemory(2 ** 20);
  indexes = new LoadedDictionaries({
    store,
    memory,
    builds: new LayerBuilds({ here: thread, small: thread, medium: thread, large: thread }, memory),
    search: new CopySearch(thread),
    clock,
    onDefect: (error) => void defects.push(error),
    onWarning: (text) => void defects.push(text),
    onClose: () => void thread.close(),
  });
  expect(await ask()).toEqual(['old']);
});

afterEach(async () => {
  indexes.close();
  await eventually('no memory in use', () => indexes.usedBytes === 0);
  expect(defects.splice(0)).toEqual([]);
});

function entry(entryId: string): Entry {
  return { entryId, text: entryId, aliases: [], weight: 0, payload: new Uint8Array() };
}

async function ask(asked = NOW): Promise<string[]> {
  const request = { query: '', kinds: [], limit: 10, after: undefined };
  const { entries } = await indexes.rank(NAME, request, asked);
  return entries.map(({ entryId }) => entryId);
}

/** As an import of this entry, while the loads of the new generation fail `failures` times. */
function replaceWhileLoadsFail(failures: number): void {
  store.replaceAll(new Map([['new', entry('new')]]));
  store.commands.length = 0;
  let left = failures;
  store.before = (command) => {
    if (command === 'startLoad' && left-- > 0) throw new StoreFailure('no', 'unavailable');
  };
}

function loads(): number {
  return store.commands.filter((command) => command === 'startLoad').length;
}

/** Begins the load of another generation, as after an import. The load has read everything, and waits for the result. */
async function beginReplacement(): Promise<() => void> {
  let letThrough: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (letThrough = resolve));
  let isHeld = false;
  thread.before = (call) => {
    if (call !== 'writeLayer') return undefined;
    isHeld = true;
    return held;
  };
  store.replaceAll(new Map([['new', entry('new')]]));
  expect(await ask()).toEqual(['old']);
  await eventually('the layer', () => isHeld);
  return letThrough;
}

test('loads the new generation again after a failed load, also without a further write', async () => {
  replaceWhileLoadsFail(1);
  expect(await ask()).toEqual(['old']);
  await eventually('the failed load', () => loads() === 1);
  expect(await ask()).toEqual(['old']);
  expect(loads()).toBe(1);
  clock.pass(1000);
  await eventually('the new generation', async () => (await ask()).includes('new'));
  expect(await ask()).toEqual(['new']);
  expect(loads()).toBe(2);
});

test('answers from the replaced generation for at most a minute if the new generation cannot be loaded', async () => {
  replaceWhileLoadsFail(Infinity);
  const stale = { ...NOW, maxStalenessMs: 3_600_000 };
  expect(await ask()).toEqual(['old']);
  clock.pass(60_000);
  expect(await ask()).toEqual(['old']);
  expect(await ask(stale)).toEqual(['old']);
  clock.pass(1);
  await expect(ask(stale)).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
  await expect(ask()).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
  store.before = () => undefined;
  expect(await ask()).toEqual(['new']);
});

test('applies the writes during the load of the new generation before its first answer', async () => {
  const letThrough = await beginReplacement();
  store.put(entry('newer'));
  clock.pass(60_001);
  store.commands.length = 0;
  const waiting = ask();
  // The query has the head and the write, and waits for the load.
  await eventually('the read of the write', () => store.commands.at(-1) === 'writesAfter');
  letThrough();
  expect(await waiting).toEqual(['new', 'newer']);
});

test('counts max_staleness of a new copy from the beginning of its load', async () => {
  const letThrough = await beginReplacement();
  clock.pass(10_000);
  store.put(entry('newer'));
  expect(await ask()).toEqual(['newer', 'old']);
  store.commands.length = 0;
  const loaded = indexes.load(NAME, 20_000);
  await eventually('the head', () => store.commands.includes('head'));
  await settled();
  letThrough();
  await loaded;
  expect(await ask({ ...NOW, maxStalenessMs: 1000 })).toEqual(['new', 'newer']);
});

test('continues with the generation of the copy if a failover has lost the commit of the new generation', async () => {
  const backup = store.state;
  store.before = (command) => (command === 'startLoad' ? new Promise(() => undefined) : undefined);
  store.replaceAll(new Map([['new', entry('new')]]));
  store.put(entry('lost'));
  expect(await ask()).toEqual(['lost', 'old']);
  store.state = backup;
  store.put(entry('kept'));
  expect(await ask()).toEqual(['kept', 'old']);
  clock.pass(60_001);
  expect(await ask()).toEqual(['kept', 'old']);
});

test('finds the end of a history that a failover has made shorter', async () => {
  const backup = store.state;
  for (let n = 1; n <= 9; n += 1) store.put(entry(`lost ${n}`));
  let reads = 0;
  store.before = (command) => {
    // The first answer has only a part of the writes.
    if (command === 'writesAfter' && (reads += 1) === 2) store.state = backup;
  };
  expect(await ask()).toEqual(['old']);
});

test('asks the primary for the live generation if a replica knows only the replaced generation', async () => {
  const replaced = store.state;
  indexes.forget(NAME);
  store.replaceAll(new Map([['new', entry('new')]]));
  const live = store.state;
  const head = (await store.head()) as Head;
  jest.spyOn(store, 'writesAfter').mockResolvedValueOnce({ kind: 'writes', head, writes: [] });
  store.source = 'replica';
  let starts = 0;
  store.before = (command) => {
    if (command === 'startLoad') store.state = (starts += 1) === 1 ? replaced : live;
  };
  expect(await ask()).toEqual(['new']);
});
