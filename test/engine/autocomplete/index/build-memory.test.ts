import { estimateBuildMemory, type BuildSize } from '../../../../src/engine/autocomplete/index/build-memory';
import { sizeOfLayer } from '../../../../src/engine/autocomplete/index/layer-memory';
import { buildLayer } from '../../../../src/engine/autocomplete/index/layer-builder';
import { collect, type TestEntry } from '../../../support/collected-entries';

const numbered = (entryFor: (n: number) => Omit<TestEntry, 'id'>): TestEntry[] =>
  Array.from({ length: 3000 }, (_, n) => ({ id: `id-${n}`, ...entryFor(n) }));

it.each([
  ['names', 1.04, numbered((n) => ({ text: `anna strand ${n}` }))],
  ['aliases', 1.1, numbered((n) => ({ text: `name ${n}`, aliases: [`first ${n}`, `second ${n}`, `${n}`] }))],
  ['Han characters', 3, numbered((n) => ({ text: `${'漢字'.repeat(n % 9)}東京` }))],
])('bounds the size of a layer: %s', (_, factor, entries) => {
  const collector = collect(entries);
  const size: BuildSize = {
    entryCount: entries.length,
    entryBytes: collector.entryBytes - 4 * entries.length,
    formBytes: collector.formBytes,
  };
  const { shape } = buildLayer(collector, {
    smallFormBytes: 0,
    allocate: (byteLength) => ({ buffer: new ArrayBuffer(byteLength), byteOffset: 0 }),
  });
  const { layerBytes, peakBytes } = estimateBuildMemory(size);
  expect(layerBytes).toBeGreaterThanOrEqual(sizeOfLayer(shape));
  expect(layerBytes).toBeLessThan(factor * sizeOfLayer(shape));
  expect(peakBytes).toBeGreaterThan(2 * layerBytes);
});
