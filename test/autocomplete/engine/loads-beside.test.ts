import { systemClock, type Clock } from '../../../src/base/clock';
import { collectorBytes } from '../../../src/autocomplete/index/build/builder';
import { CopySearch } from '../../../src/autocomplete/loaded/search';
import { IndexMemory } from '../../../src/autocomplete/loaded/index-memory';
import { LayerBuilds } from '../../../src/autocomplete/loaded/builds';
import {
  LoadedDictionaries,
  type LoadedDictionariesOptions,
} from '../../../src/autocomplete/loaded/loaded-dictionaries';
import type { HoldfastError } from '../../../src/base/errors';
import type { Entry } from '../../../src/autocomplete/suggestion';
import { eventually } from '../../support/eventually';
import { ManualClock } from '../../support/manual-clock';
import { ModelEntryStore } from '../../support/autocomplete/model-entry-store';
import { TestIndexThread } from '../../support/autocomplete/index-view';

/** Loads of large dictionaries beside others. The large ones say that they have more bytes than they have. */

const MIB = 2 ** 20;
const MEDIUM = 2 * MIB;
const LARGE = 20 * MIB;
const NOW = { maxStalenessMs: 0, patienceMs: 20_000, caller: undefined };

let indexes: LoadedDictionaries | undefined;
let threads: Record<'small' | 'medium' | 'large' | 'search', TestIndexThread>;
let stores: Map<string, ModelEntryStore>;
const warnings: string[] = [];
const defects: unknown[] = [];

afterEach(async () => {
  indexes?.close();
  await eventually('no memory in use', () => (indexes?.usedBytes ?? 0) === 0);
  indexes = undefined;
  expect(defects.splice(0)).toEqual([]);
});

function entry(entryId: string, text: string): Entry {
  return { entryId, text, aliases: [], weight: 0, payload: new Uint8Array() };
}

function storeOf(...entries: Entry[]): ModelEntryStore {
  const store = new ModelEntryStore({ accents: 'kept', typos: true });
  store.put(...entries);
  return store;
}

/** `sizes`: the bytes that each dictionary says that it has. */
function open(sizes: Record<string, number>, clock: Clock = systemClock, budgetBytes = 512 * MIB): void {
  stores = new Map(Object.keys(sizes).map((name) => [name, storeOf(entry('1', `${name} one`))]));
  const of = (name: string) => stores.get(name) as ModelEntryStore;
  const store: LoadedDictionariesOptions['store'] = {
    head: (name) => of(name).head(),
    startLoad: async (name) => {
      const start = await of(name).startLoad();
      return start.kind === 'start' ? { ...start, entryBytes: sizes[name] as number } : start;
    },
    readBuckets: (name, ...read) => of(name).readBuckets(name, read[0], read[1]),
    writesAfter: (name, after) => of(name).writesAfter(name, after),
  };
  const [small, medium, large, search] = [1, 2, 3, 4].map(() => new TestIndexThread());
  threads = { small, medium, large, search } as typeof threads;
  const memory = new IndexMemory(budgetBytes);
  indexes = new LoadedDictionaries({
    store,
    memory,
    builds: new LayerBuilds(threads, memory),
    search: new CopySearch(threads.search),
    clock,
    onDefect: (error) => void defects.push(error),
    onWarning: (text) => void warnings.push(text),
    onClose: () => Object.values(threads).forEach((thread) => void thread.close()),
  });
}

async function ask(name: string, asked = NOW): Promise<string[]> {
  const request = { query: '', kinds: [], limit: 10, after: undefined };
  const { entries } = await indexes!.rank(name, request, asked);
  return entries.map(({ text }) => text);
}

/** Holds a thread before this call. `reached` resolves when the thread is there. */
function holdBefore(thread: TestIndexThread, held: string): { reached: Promise<void>; release: () => void } {
  let release: () => void = () => undefined;
  let reach: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const reached = new Promise<void>((resolve) => (reach = resolve));
  thread.before = (call) => {
    if (call !== held) return undefined;
    reach();
    return released;
  };
  return { reached, release };
}

test('a dictionary of some megabytes is loaded while a much larger one is being built', async () => {
  open({ huge: LARGE, towns: MEDIUM });
  const build = holdBefore(threads.large, 'writeLayer');
  const huge = ask('huge');
  await build.reached;
  expect(await ask('towns')).toEqual(['towns one']);
  expect(indexes!.stateOf('huge').loadState).toBe('loading');
  build.release();
  expect(await huge).toEqual(['huge one']);
});

test('many changes of a loaded dictionary are seen while others of its size and larger are being built', async () => {
  open({ huge: LARGE, rivers: MEDIUM, towns: MEDIUM });
  await ask('towns');
  const builds = [threads.large, threads.medium].map((thread) => holdBefore(thread, 'writeLayer'));
  const others = [ask('huge'), ask('rivers')];
  for (const { reached } of builds) await reached;
  const store = stores.get('towns')!;
  store.writesPerRead = 10_000;
  const payload = new Uint8Array(1024);
  store.put(...Array.from({ length: 1100 }, (_, n) => ({ ...entry(`a${n}`, `a town ${n}`), payload })));
  expect((await ask('towns'))[0]).toBe('a town 0');
  for (const { release } of builds) release();
  await Promise.all(others);
});

test('a long load does not evict a dictionary that was asked for in the last 10 s, and says what it needs', async () => {
  const clock = new ManualClock(1_000_000);
  const forLarge = collectorBytes({ count: 1, bytes: LARGE });
  open({ towns: 1, huge: LARGE }, clock, forLarge + MIB);
  stores.get('towns')!.put(...Array.from({ length: 9000 }, (_, n) => entry(`id ${n}`, `town number ${n}`)));
  await ask('towns');
  // The large dictionary fits only without the small one.
  expect(indexes!.stateOf('towns').memoryBytes).toBeGreaterThan(MIB);
  await expect(ask('huge')).rejects.toMatchObject({ reason: 'QUOTA_EXCEEDED' });
  expect(indexes!.stateOf('towns').loadState).toBe('ready');
  clock.pass(10_001);
  expect(await ask('huge')).toEqual(['huge one']);
  expect(indexes!.stateOf('towns').loadState).toBe('not-loaded');
});

test('a load that takes longer than the feed lasts is not repeated, and has the writes of its time', async () => {
  const clock = new ManualClock(1_000_000);
  open({ huge: LARGE }, clock);
  const store = stores.get('huge')!;
  const build = holdBefore(threads.large, 'writeLayer');
  const loaded = ask('huge', { ...NOW, patienceMs: 60_000 });
  await build.reached;
  for (let turn = 1; turn <= 5; turn += 1) {
    for (let n = 0; n < 10; n += 1) store.put(entry(`${turn}-${n}`, `a ${turn}`));
    await clock.advance(5000);
    // The feed forgets the writes.
    store.keepWrites(1);
  }
  store.commands.length = 0;
  build.release();
  expect(await loaded).toEqual(Array.from({ length: 10 }, () => 'a 1'));
  expect(store.commands).not.toContain('startLoad');
});

test('DICTIONARY_LOADING says how far the load is, and when to ask again', async () => {
  const clock = new ManualClock(1_000_000);
  open({ huge: LARGE }, clock);
  const store = stores.get('huge')!;
  const reading: (() => void)[] = [];
  store.before = (command) =>
    command === 'readBuckets' ? new Promise<void>((go) => reading.push(go)) : undefined;
  const loading = ask('huge', { ...NOW, patienceMs: 60_000 });
  const refused = async () => {
    const [error] = await Promise.all([
      ask('huge', { ...NOW, patienceMs: 1000 }).catch((failure: unknown) => failure as HoldfastError),
      clock.advance(1000),
    ]);
    return error as HoldfastError;
  };
  await eventually('the first read', () => reading.length === 1);
  expect(await refused()).toMatchObject({
    reason: 'DICTIONARY_LOADING',
    message: expect.stringContaining('(for 1 s; 0 % of its entries are read)'),
    details: { retryAfterMs: 1000 },
  });
  reading[0]!();
  await eventually('the second read', () => reading.length === 2);
  expect(await refused()).toMatchObject({
    message: expect.stringContaining('(for 2 s; 25 % of its entries are read)'),
    details: { retryAfterMs: 2000 },
  });
  const build = holdBefore(threads.large, 'writeLayer');
  store.before = () => undefined;
  reading[1]!();
  await build.reached;
  await clock.advance(20_000);
  expect(await refused()).toMatchObject({
    message: expect.stringContaining('(for 23 s; all its entries are read, and its index is being built)'),
    details: { retryAfterMs: 10_000 },
  });
  build.release();
  expect(await loading).toEqual(['huge one']);
});
