import fc from 'fast-check';
import { type LoadedDictionaries, openIndexes } from '../../../src/autocomplete/loaded/loaded-dictionaries';
import { type LayerSize, planMerge } from '../../../src/autocomplete/loaded/merges';
import { unpackRecord } from '../../../src/autocomplete/record';
import type { Entry } from '../../../src/autocomplete/suggestion';
import { ModelEntryStore } from '../../support/autocomplete/model-entry-store';
import { eventually } from '../../support/eventually';
import { ManualClock } from '../../support/manual-clock';
import { assertWithinTime } from '../../support/timed-property';

describe('with little memory', () => {
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
  async function bytesOfLoad(): Promise<number> {
    open(storeOf(entriesOf(0, ENTRY_COUNT)), 3 * MIB);
    const error = await ask('').then(
      () => new Error('the dictionary was loaded'),
      (failure: unknown) => failure as Error,
    );
    await close();
    return Number(/at least (\d+) bytes/.exec(error.message)?.[1]);
  }

  /** Of a load of all entries. */
  let loadBytes: number;
  beforeAll(async () => {
    loadBytes = await bytesOfLoad();
  });

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

  /** Overwrites `count` entries, 1,000 at a time. Queries apply the writes one by one. Texts of 4 letters keep the size. */
  async function overwrite(store: ModelEntryStore, count: number, text: string): Promise<void> {
    for (let from = 0; from < count; from += 1000) {
      store.put(...entriesOf(from, 1000, text));
      await ask(text);
    }
  }

  test('keeps answering without a new load if a merge of all layers does not fit into the memory', async () => {
    const store = storeOf(entriesOf(0, ENTRY_COUNT));
    open(store, loadBytes + MIB);
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
    open(store, loadBytes);
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
    open(store, loadBytes);
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
});

describe('the plan of merges', () => {
  const FIRST_BYTES = 100;

  function layer(bytes: number, rest: Partial<LayerSize> = {}): LayerSize {
    return { bytes, livingBytes: bytes, takesWrites: false, isMerging: false, ...rest };
  }

  /** A layer that the main thread made of the latest writes. */
  function newest(bytes: number, rest: Partial<LayerSize> = {}): LayerSize {
    return layer(bytes, { takesWrites: true, ...rest });
  }

  const OLDEST = layer(1_000_000);
  const plan = (...layers: LayerSize[]) => planMerge(layers, FIRST_BYTES);

  test('merges nothing while the newest layer takes writes', () => {
    expect(plan()).toBeUndefined();
    expect(plan(OLDEST)).toBeUndefined();
    expect(plan(newest(99), OLDEST)).toBeUndefined();
    expect(plan(newest(99), layer(5000), OLDEST)).toBeUndefined();
  });

  test('merges a full newest layer alone if the next layer is much larger', () => {
    expect(plan(newest(100), layer(5000), OLDEST)).toEqual({ start: 0, end: 1 });
  });

  test('merges a full newest layer with all layers that are not much larger than the merge so far', () => {
    expect(plan(newest(100), layer(400), layer(2000), OLDEST)).toEqual({ start: 0, end: 3 });
  });

  test('leaves out layers with a merge in progress', () => {
    expect(plan(newest(100), layer(100, { isMerging: true }), OLDEST)).toEqual({ start: 0, end: 1 });
    expect(plan(newest(100, { isMerging: true }), layer(100), OLDEST)).toBeUndefined();
  });

  test('merges two neighbouring layers of similar size while the newest layer takes writes', () => {
    expect(plan(newest(10), layer(300), layer(500), OLDEST)).toEqual({ start: 1, end: 3 });
  });

  test('leaves a layer as it is after its merge', () => {
    expect(plan(layer(100), layer(5000), OLDEST)).toBeUndefined();
  });

  test('merges a layer alone if more than half of it is dead', () => {
    expect(plan(newest(10), layer(5000, { livingBytes: 2000 }), OLDEST)).toEqual({ start: 1, end: 2 });
    expect(plan(newest(10), layer(5000, { livingBytes: 2000, isMerging: true }), OLDEST)).toBeUndefined();
  });

  test('merges the oldest layer only together with all other layers', () => {
    expect(plan(newest(10), layer(300), layer(500))).toEqual({ start: 0, end: 3 });
    expect(plan(newest(10), layer(90), layer(5000, { livingBytes: 2000 }))).toEqual({ start: 0, end: 3 });
    expect(plan(newest(10, { isMerging: true }), layer(300), layer(500))).toBeUndefined();
  });

  test('keeps the number of layers and of rewrites small for any sequence of writes', () => {
    assertWithinTime(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 500, maxLength: 1000 }),
        (writes) => {
          let layers: LayerSize[] = [];
          let written = 0;
          let rewritten = 0;
          for (const bytes of writes) {
            layers = [newest((layers[0]?.bytes ?? 0) + bytes), ...layers.slice(1)];
            written += bytes;
            for (let merge = planMerge(layers, FIRST_BYTES); merge; merge = planMerge(layers, FIRST_BYTES)) {
              const merged = layers.slice(merge.start, merge.end).reduce((sum, one) => sum + one.bytes, 0);
              rewritten += merged;
              const before = merge.start === 0 ? [newest(0)] : layers.slice(0, merge.start);
              layers = [...before, layer(merged), ...layers.slice(merge.end)];
            }
          }
          expect(layers.length).toBeLessThanOrEqual(9);
          expect(rewritten).toBeLessThan(12 * written);
        },
      ),
    );
  });
});
