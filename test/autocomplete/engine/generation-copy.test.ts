import { systemClock } from '../../../src/base/clock';
import { EntryCollector } from '../../../src/autocomplete/index/build/collector';
import { buildLayer } from '../../../src/autocomplete/index/build/builder';
import { openLayer, ownMemory } from '../../../src/autocomplete/index/layer/layer-memory';
import type { EntryChange } from '../../../src/autocomplete/entry-store';
import { GenerationCopy } from '../../../src/autocomplete/loaded/copy';
import { HeldLayer } from '../../../src/autocomplete/loaded/levels';
import { IndexMemory } from '../../../src/autocomplete/loaded/index-memory';
import type { LayerBuilds } from '../../../src/autocomplete/loaded/builds';
import { packRecord } from '../../../src/autocomplete/record';

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
