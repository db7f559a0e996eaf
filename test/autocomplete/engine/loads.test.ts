import fc from 'fast-check';
import { collectorBytes } from '../../../src/autocomplete/index/build/builder';
import { BuildShares, BuildTurns, LayerBuilds } from '../../../src/autocomplete/loaded/builds';
import { type Block, IndexMemory, MemoryArena } from '../../../src/autocomplete/loaded/index-memory';
import {
  LoadedDictionaries,
  type LoadedDictionariesOptions,
} from '../../../src/autocomplete/loaded/loaded-dictionaries';
import { CopySearch } from '../../../src/autocomplete/loaded/search';
import type { Entry } from '../../../src/autocomplete/suggestion';
import { type Clock, systemClock } from '../../../src/base/clock';
import type { HoldfastError } from '../../../src/base/errors';
import { LoadRate } from '../../../src/flow/lanes';
import { TestIndexThread } from '../../support/autocomplete/index-view';
import { ModelEntryStore } from '../../support/autocomplete/model-entry-store';
import { eventually } from '../../support/eventually';
import { ManualClock } from '../../support/manual-clock';
import { assertWithinTime } from '../../support/timed-property';

describe('loads beside each other', () => {
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
  function holdBefore(
    thread: TestIndexThread,
    held: string,
  ): { reached: Promise<void>; release: () => void } {
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
});

describe('the rate of loads', () => {
  test('lets 101 loads begin together, and then one load every 5 ms', async () => {
    const clock = new ManualClock(10_000);
    const rate = new LoadRate(clock);
    let begun = 0;
    for (let n = 0; n < 150; n += 1) void rate.pass().then(() => (begun += 1));
    await clock.advance(0);
    expect(begun).toBe(101);
    await clock.advance(5);
    expect(begun).toBe(102);
    await clock.advance(100);
    expect(begun).toBe(122);
    await clock.advance(10_000);
    expect(begun).toBe(150);
  });
});

describe('the memory of indexes', () => {
  const KIB = 1024;

  test('gives blocks that begin at multiples of 64 bytes and do not overlap', () => {
    assertWithinTime(
      fc.property(fc.array(fc.oneof(fc.nat(3 * KIB), fc.constant('free')), { maxLength: 60 }), (steps) => {
        const arena = new MemoryArena(16 * KIB);
        const blocks: Block[] = [];
        for (const step of steps) {
          if (step === 'free') {
            const oldest = blocks.shift();
            if (oldest) arena.free(oldest);
            continue;
          }
          const block = arena.allocate(step);
          if (!block) continue;
          expect(block.byteOffset % 64).toBe(0);
          expect(block.byteLength).toBe(step);
          const end = block.byteOffset + block.byteLength;
          expect(end).toBeLessThanOrEqual(block.buffer.byteLength);
          for (const other of blocks) {
            const apart = end <= other.byteOffset || other.byteOffset + other.byteLength <= block.byteOffset;
            expect(apart || block.byteLength === 0 || other.byteLength === 0).toBe(true);
          }
          blocks.push(block);
        }
        for (const block of blocks) arena.free(block);
        expect(arena.usedBytes).toBe(0);
        expect(arena.allocate(16 * KIB)).toBeDefined();
      }),
    );
  });

  test('gives no block if no free range is large enough', () => {
    const arena = new MemoryArena(4 * KIB);
    const [first, , third] = [arena.allocate(KIB), arena.allocate(KIB), arena.allocate(KIB)];
    expect(arena.allocate(2 * KIB)).toBeUndefined();
    arena.free(third!);
    expect(arena.allocate(2 * KIB)).toMatchObject({ byteOffset: 2 * KIB });
    arena.free(first!);
    expect(arena.usedBytes).toBe(3 * KIB);
  });

  test('uses the lowest free place first', () => {
    const arena = new MemoryArena(4 * KIB);
    const [first] = [arena.allocate(KIB), arena.allocate(KIB)];
    arena.free(first!);
    expect(arena.allocate(100)).toMatchObject({ byteOffset: 0 });
  });

  test('refuses to free a block twice', () => {
    const arena = new MemoryArena(4 * KIB);
    const block = arena.allocate(KIB)!;
    arena.free(block);
    expect(() => arena.free(block)).toThrow('already free');
  });
});

describe('the turns of builds', () => {
  const settle = () => new Promise(setImmediate);

  /** A build that ends when the test says so. */
  function gate(): { readonly open: Promise<void>; release: () => void } {
    let release: () => void = () => undefined;
    const open = new Promise<void>((resolve) => (release = resolve));
    return { open, release };
  }

  test('builds of one thread run one after another, the smallest first', async () => {
    const turns = new BuildTurns();
    const begun: number[] = [];
    const first = gate();
    const build = (bytes: number) =>
      turns.run(bytes, () => {
        begun.push(bytes);
        return bytes === 100 ? first.open : Promise.resolve();
      });
    const all = [100, 50, 20, 70, 20, 10].map(build);
    await settle();
    expect(begun).toEqual([100]);
    first.release();
    await Promise.all(all);
    expect(begun).toEqual([100, 10, 20, 20, 50, 70]);
  });

  test('a build that smaller builds have overtaken eight times comes next', async () => {
    const turns = new BuildTurns();
    const begun: string[] = [];
    const build = (name: string, bytes: number): Promise<void> =>
      turns.run(bytes, async () => {
        begun.push(name);
        await settle();
        // A smaller build is always there.
        if (name.startsWith('small') && begun.length < 30) running.push(build(`small ${begun.length}`, 1));
      });
    const running = [build('small a', 1), build('large', 99), build('small b', 1)];
    for (const one of running) await one;
    expect(begun.indexOf('large')).toBe(9);
  });

  test('a failed build gives its turn to the next one', async () => {
    const turns = new BuildTurns();
    const failed = turns.run(1, () => Promise.reject(new Error('no')));
    const next = turns.run(1, () => Promise.resolve('built'));
    await expect(failed).rejects.toThrow('no');
    expect(await next).toBe('built');
  });

  describe('builds that share the memory', () => {
    it('run together if all fit into the budget, and otherwise wait in the order of arrival', async () => {
      const shares = new BuildShares(100);
      const begun: string[] = [];
      const begin = async (name: string, bytes: number) => {
        const share = await shares.begin(bytes);
        begun.push(name);
        return share;
      };
      const a = begin('a', 60);
      const b = begin('b', 40);
      const c = begin('c', 50);
      // Fits, but would overtake c.
      const d = begin('d', 0);
      await settle();
      expect(begun).toEqual(['a', 'b']);
      // a knows now that it needs less.
      (await a).set(10);
      await settle();
      expect(begun).toEqual(['a', 'b', 'c', 'd']);
      for (const one of [a, b, c, d]) (await one).end();
    });

    it('begin alone, however much they need', async () => {
      const shares = new BuildShares(100);
      const share = await shares.begin(1000);
      let isBegun = false;
      const next = shares.begin(1).then((begun) => {
        isBegun = true;
        return begun;
      });
      await settle();
      expect(isBegun).toBe(false);
      share.end();
      (await next).end();
    });
  });
});
