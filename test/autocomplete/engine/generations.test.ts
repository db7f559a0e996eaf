import type { EntryChange, Gap, Head, Write, Writes } from '../../../src/autocomplete/entry-store';
import { buildLayer } from '../../../src/autocomplete/index/build/builder';
import { EntryCollector } from '../../../src/autocomplete/index/build/collector';
import { openLayer, ownMemory } from '../../../src/autocomplete/index/layer/layer-memory';
import { LayerBuilds } from '../../../src/autocomplete/loaded/builds';
import { GenerationCopy } from '../../../src/autocomplete/loaded/copy';
import { IndexMemory } from '../../../src/autocomplete/loaded/index-memory';
import { HeldLayer, type Position } from '../../../src/autocomplete/loaded/levels';
import { LoadedDictionaries } from '../../../src/autocomplete/loaded/loaded-dictionaries';
import { CopySearch } from '../../../src/autocomplete/loaded/search';
import { WritesMeanwhile } from '../../../src/autocomplete/loaded/store-reads';
import { packRecord } from '../../../src/autocomplete/record';
import type { Entry } from '../../../src/autocomplete/suggestion';
import { systemClock } from '../../../src/base/clock';
import { StoreFailure } from '../../../src/base/errors';
import { TestIndexThread } from '../../support/autocomplete/index-view';
import { ModelEntryStore } from '../../support/autocomplete/model-entry-store';
import { eventually } from '../../support/eventually';
import { ManualClock, settled } from '../../support/manual-clock';

describe('a replaced generation', () => {
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
});

describe('the copy of a generation', () => {
  const PROFILE = { accents: 'kept', typos: true } as const;
  const CHANGED = 1000;

  function putsOf(count: number): Extract<EntryChange, { kind: 'put' }>[] {
    return Array.from({ length: count }, (_, n) => ({
      kind: 'put',
      entryId: `id ${n}`,
      record: packRecord({ text: `name ${n}`, aliases: [], weight: 0, payload: new Uint8Array() }),
    }));
  }

  function layerOf(count: number): HeldLayer {
    const collector = new EntryCollector(PROFILE.accents);
    for (const { entryId, record } of putsOf(count)) collector.put(Buffer.from(entryId), record);
    const memory = buildLayer(collector, { allocate: ownMemory, smallFormBytes: Infinity });
    return new HeldLayer(openLayer(memory), memory, memory.buffer.byteLength, () => undefined);
  }

  /** Counts the turns of the event loop until the work is done. */
  async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    await work();
    isDone = true;
    return turns;
  }

  test('takes over a merged layer in slices, so that other calls run in between', async () => {
    const merges: ((merged: HeldLayer) => void)[] = [];
    const build = () => new Promise<HeldLayer>((resolve) => merges.push(resolve));
    let time = 0;
    const copy = new GenerationCopy(
      'generation',
      { version: 1, tail: 'tail 1', held: layerOf(CHANGED) },
      {
        profile: PROFILE,
        // Between two looks at the clock, a slice is over.
        clock: { ...systemClock, now: () => (time += 1) },
        builds: { build } as unknown as LayerBuilds,
        memory: new IndexMemory(2 ** 20),
        room: { freeSome: () => false, heldBytes: () => 0 },
        onMergeFailed: (error) => {
          throw error;
        },
        layerLimits: { firstLayerBytes: 1, mostBytesHere: Infinity },
      },
    );
    await copy.apply([{ version: 2, before: 'tail 1', tail: 'tail 2', changes: putsOf(CHANGED) }]);
    // These entries change while the merge is in progress.
    await copy.apply([{ version: 3, before: 'tail 2', tail: 'tail 3', changes: putsOf(CHANGED) }]);
    const merged = layerOf(CHANGED);
    const turns = await turnsDuring(async () => {
      merges[0]?.(merged);
      while (!copy.levels.some(({ held }) => held === merged)) await new Promise(setImmediate);
    });
    expect(turns).toBeGreaterThan(CHANGED);
    // All entries of the merged layer have changed since.
    expect(copy.levels.map(({ held, dead }) => held.layer.count - dead.count)).toEqual([CHANGED, 0]);
    copy.close();
  });
});

describe('the writes during a load', () => {
  const MIB = 2 ** 20;
  const INTERVAL_MS = 5000;
  const MOST_READS = 50;
  const at = (version: number): Position => ({ version, tail: `t${version}` });

  function write(version: number, bytes = 1): Write {
    const record = new Uint8Array(bytes);
    const changes = [{ kind: 'put' as const, entryId: `e${version}`, record }];
    return { version, before: `t${version - 1}`, tail: `t${version}`, changes };
  }

  let clock: ManualClock;
  let memory: IndexMemory;
  /** The writes of the store, and the version of its live generation. */
  let stored: Write[];
  let liveVersion: number;
  let isGap: boolean;
  let reads: number;
  let writes: WritesMeanwhile;
  beforeEach(() => {
    clock = new ManualClock(1_000_000);
    memory = new IndexMemory(64 * MIB);
    [stored, liveVersion, isGap, reads] = [[], 0, false, 0];
    const read = async ({ version }: Position): Promise<Writes | Gap> => {
      reads += 1;
      if (reads > MOST_READS) throw new Error('too many reads');
      if (isGap) return { kind: 'gap' };
      const head = { kind: 'head', version: liveVersion } as Head;
      return { kind: 'writes', writes: stored.filter((one) => one.version > version).slice(0, 1), head };
    };
    writes = new WritesMeanwhile(at(0), read, clock, memory);
  });
  afterEach(() => {
    writes.end();
    expect(clock.timerCount).toBe(0);
    expect(memory.usedBytes).toBe(0);
  });

  function put(version: number, bytes?: number): void {
    stored.push(write(version, bytes));
    liveVersion = version;
  }
  const versions = (after: Position) => writes.takeAfter(after).map(({ version }) => version);

  test.each(['the bound', 'a gap'])(
    'writes are kept again from a later position after %s has ended the reads',
    async (end) => {
      put(1, 17 * MIB);
      isGap = end === 'a gap';
      await clock.advance(INTERVAL_MS);
      put(2);
      isGap = false;
      await clock.advance(3 * INTERVAL_MS);
      expect(versions(at(0))).toEqual(end === 'a gap' ? [] : [1]);
      writes.continueFrom(at(2));
      put(3);
      put(4);
      await clock.advance(INTERVAL_MS);
      expect(versions(at(2))).toEqual([3, 4]);
    },
  );

  test('a read of an earlier position that is answered late is left out', async () => {
    put(1);
    const advanced = clock.advance(INTERVAL_MS);
    put(2);
    writes.continueFrom(at(2));
    await advanced;
    put(3);
    await clock.advance(INTERVAL_MS);
    expect(versions(at(2))).toEqual([3]);
  });

  test('a generation that was replaced by one with a higher version is not read without a pause', async () => {
    put(1);
    liveVersion = 9;
    for (let turn = 0; turn < 4; turn += 1) await clock.advance(INTERVAL_MS);
    expect(reads).toBeLessThan(MOST_READS);
    expect(versions(at(0))).toEqual([1]);
  });
});
