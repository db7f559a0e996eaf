import { Work } from '../../../src/autocomplete/index/work';
import { LayerBuilds } from '../../../src/autocomplete/loaded/builds';
import { IndexMemory } from '../../../src/autocomplete/loaded/index-memory';
import { LoadedDictionaries } from '../../../src/autocomplete/loaded/loaded-dictionaries';
import { CopySearch } from '../../../src/autocomplete/loaded/search';
import { IndexThread } from '../../../src/autocomplete/loaded/thread-calls';
import type { AskedView, Entry } from '../../../src/autocomplete/suggestion';
import { StoreFailure } from '../../../src/base/errors';
import { ThreadLost } from '../../../src/base/thread';
import { TestIndexThread } from '../../support/autocomplete/index-view';
import { ModelEntryStore } from '../../support/autocomplete/model-entry-store';
import { eventually } from '../../support/eventually';
import { ManualClock, settled } from '../../support/manual-clock';

describe('closed dictionaries', () => {
  const NAME = 'people';
  const NOW = { maxStalenessMs: 0, patienceMs: 20_000, caller: undefined };

  const defects: unknown[] = [];
  let indexes: LoadedDictionaries;
  let clock: ManualClock;
  let thread: TestIndexThread;
  let store: ModelEntryStore;

  beforeEach(() => {
    clock = new ManualClock(1_000_000);
    thread = new TestIndexThread();
    store = new ModelEntryStore({ accents: 'kept', typos: true });
    store.put(entry('1'));
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
  });

  afterEach(async () => {
    indexes.close();
    await eventually('no memory in use', () => indexes.usedBytes === 0);
    expect(defects.splice(0)).toEqual([]);
  });

  function entry(entryId: string): Entry {
    return { entryId, text: entryId, aliases: [], weight: 0, payload: new Uint8Array() };
  }

  async function ask(name = NAME, asked = NOW): Promise<string[]> {
    const request = { query: '', kinds: [], limit: 10, after: undefined };
    const { entries } = await indexes.rank(name, request, asked);
    return entries.map(({ entryId }) => entryId);
  }

  function loads(): number {
    return store.commands.filter((command) => command === 'startLoad').length;
  }

  /** Holds these commands of the store until the result is called. */
  function hold(held: string): () => void {
    let letThrough: () => void = () => undefined;
    const wait = new Promise<void>((resolve) => (letThrough = resolve));
    store.before = (command) => (command === held ? wait : undefined);
    return letThrough;
  }

  test('keeps no index of a dictionary that was evicted while a query read its head', async () => {
    await ask();
    const letThrough = hold('head');
    const waiting = ask();
    await settled();
    const entries = Array.from({ length: 700 }, (_, n) => ({ ...entry(`${n}`), text: 'x'.repeat(n % 60) }));
    store.put(...entries);
    for (let n = 0; indexes.stateOf(NAME).loadState === 'ready' && n < 50; n += 1) await ask(`other ${n}`);
    expect(indexes.stateOf(NAME).loadState).toBe('not-loaded');
    letThrough();
    expect(await waiting).toHaveLength(10);
    expect(indexes.stateOf(NAME).loadState).toBe('ready');
  });

  test('ends the load of a deleted dictionary, and answers NO_SUCH_DICTIONARY', async () => {
    const letThrough = hold('readBuckets');
    const waiting = ask();
    await eventually('the load', () => store.commands.includes('readBuckets'));
    store.state = undefined;
    indexes.forget(NAME);
    letThrough();
    await expect(waiting).rejects.toMatchObject({ reason: 'NO_SUCH_DICTIONARY' });
    expect(loads()).toBe(2);
  });

  test('ends its loads when the server closes', async () => {
    const letThrough = hold('readBuckets');
    const waiting = ask();
    await eventually('the load', () => store.commands.includes('readBuckets'));
    indexes.close();
    letThrough();
    await expect(waiting).rejects.toMatchObject({ reason: 'DICTIONARY_LOADING' });
    await expect(ask()).rejects.toMatchObject({ reason: 'DICTIONARY_LOADING' });
    expect(loads()).toBe(1);
  });

  test('a closed thread starts no thread for further calls', async () => {
    const closed = new IndexThread({ nice: 0, dutyCycle: 1 });
    const call = closed.call('endBuild', { build: 1 });
    await closed.close();
    await call.catch(() => undefined);
    await expect(closed.call('endBuild', { build: 1 })).rejects.toBeInstanceOf(ThreadLost);
  });

  test('frees the memory of a write if its build ends after its dictionary was deleted', async () => {
    await ask();
    let isHeld = false;
    let letThrough: () => void = () => undefined;
    const wait = new Promise<void>((resolve) => (letThrough = resolve));
    thread.before = (call) => {
      if (call !== 'writeLayer') return undefined;
      isHeld = true;
      return wait;
    };
    const large = Array.from({ length: 100 }, (_, n) => ({
      ...entry(`${n}`),
      payload: new Uint8Array(1000),
    }));
    store.put(...large);
    const waiting = ask();
    await eventually('the build', () => isHeld);
    indexes.forget(NAME);
    store.state = undefined;
    letThrough();
    await expect(waiting).rejects.toMatchObject({ reason: 'NO_SUCH_DICTIONARY' });
  });

  test('a load that fails because of the store does not mark its dictionary as failed', async () => {
    store.before = () => {
      throw new StoreFailure('no', 'unavailable');
    };
    await expect(ask()).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
    expect(indexes.stateOf(NAME).loadState).toBe('not-loaded');
  });

  test('answers queries for unknown names while many loads wait, and gives unknown names no place in the queue of loads', async () => {
    const { state } = store;
    store.state = undefined;
    const unknown = Array.from({ length: 500 }, (_, n) =>
      ask(`unknown ${n}`).catch((error: unknown) => error),
    );
    for (const error of await Promise.all(unknown))
      expect(error).toMatchObject({ reason: 'NO_SUCH_DICTIONARY' });
    store.state = state;
    const waiting = ask();
    await settled();
    await clock.advance(5);
    expect(await waiting).toEqual(['1']);
  });

  test('waits for the store longer than for a load if the dictionary is loaded', async () => {
    await ask();
    store.put(entry('2'));
    const impatient = { ...NOW, patienceMs: 0 };
    const letThrough = hold('writesAfter');
    const waiting = ask(NAME, impatient);
    await clock.advance(1000);
    letThrough();
    expect(await waiting).toEqual(['1', '2']);
  });

  test('answers DICTIONARY_LOADING if a loaded dictionary must be loaded again and the query cannot wait', async () => {
    await ask();
    store.replaceAll(new Map());
    store.put(entry('2'));
    store.keepWrites(0);
    hold('startLoad');
    const waiting = expect(ask(NAME, { ...NOW, patienceMs: 0 })).rejects.toMatchObject({
      reason: 'DICTIONARY_LOADING',
    });
    await eventually('the load', async () => {
      await clock.advance(1);
      return loads() === 2;
    });
    await clock.advance(1);
    await waiting;
  });
});

describe('long searches', () => {
  const NAME = 'people';

  let indexes: LoadedDictionaries;
  let clock: ManualClock;
  let thread: TestIndexThread;
  let searches: number;
  let letThrough: () => void;

  beforeEach(async () => {
    clock = new ManualClock(1_000_000);
    thread = new TestIndexThread();
    const store = new ModelEntryStore({ accents: 'kept', typos: true });
    store.put(entry('1', 'Anna'));
    const memory = new IndexMemory(2 ** 20);
    indexes = new LoadedDictionaries({
      store,
      memory,
      builds: new LayerBuilds({ here: thread, small: thread, medium: thread, large: thread }, memory),
      search: new CopySearch(thread),
      clock,
      onDefect: (error) => expect(error).toBeUndefined(),
      onWarning: (text) => expect(text).toBeUndefined(),
      onClose: () => void thread.close(),
    });
    await indexes.load(NAME, 20_000);
    // Each search on the main thread stops, as if the search took too many steps. Then another thread begins the search anew.
    jest.spyOn(Work.prototype, 'spend').mockReturnValue(false);
    searches = 0;
    const wait = new Promise<void>((resolve) => (letThrough = resolve));
    thread.before = (call) => {
      if (call !== 'suggest') return undefined;
      searches += 1;
      return wait;
    };
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    indexes.close();
    await eventually('no memory in use', () => indexes.usedBytes === 0);
  });

  function entry(entryId: string, text: string): Entry {
    return { entryId, text, aliases: [], weight: 0, payload: new Uint8Array() };
  }

  function askLong(asked: Partial<AskedView> = {}): Promise<unknown> {
    const request = { query: 'ann', kinds: [], limit: 10, after: undefined };
    return indexes.rank(NAME, request, {
      maxStalenessMs: 0,
      patienceMs: 20_000,
      caller: undefined,
      ...asked,
    });
  }

  test('skips a long search if its caller no longer waits', async () => {
    const first = askLong();
    const second = expect(askLong({ patienceMs: 500 })).rejects.toMatchObject({ reason: 'OVERLOADED' });
    await settled();
    clock.pass(500);
    letThrough();
    await first;
    await second;
    expect(searches).toBe(1);
  });

  test('carries out the long search of a caller who cannot wait, if no other search is in progress', async () => {
    letThrough();
    await askLong({ patienceMs: 0 });
    expect(searches).toBe(1);
  });

  test('refuses the long searches of a caller that asks for too many, and serves another caller', async () => {
    const [one, other] = [{}, {}];
    const answers: string[] = [];
    const ask = (caller: object) =>
      askLong({ caller }).then(
        () => answers.push('found'),
        (error: { reason: string }) => answers.push(error.reason),
      );
    const asked = Array.from({ length: 1002 }, () => ask(one));
    await eventually('the refusal', () => answers.length > 0);
    expect(answers).toEqual(['OVERLOADED']);
    const ofOther = ask(other);
    letThrough();
    await ofOther;
    await Promise.all(asked);
    expect(answers.filter((answer) => answer === 'OVERLOADED')).toHaveLength(1);
  });
});
