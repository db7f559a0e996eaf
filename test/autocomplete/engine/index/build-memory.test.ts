import { buildLayer, collectorBytes, sortBytes } from '../../../../src/autocomplete/index/build/builder';
import { ownMemory } from '../../../../src/autocomplete/index/layer/layer-memory';
import { collect, type TestEntry } from '../../../support/autocomplete/index-view';

const PACKED_HEADER = 4;

const numbered = (entryFor: (n: number) => Omit<TestEntry, 'id'>): TestEntry[] =>
  Array.from({ length: 3000 }, (_, n) => ({ id: `id-${n}`, ...entryFor(n) }));

it.each([
  ['names', numbered((n) => ({ text: `anna strand ${n}` }))],
  ['aliases', numbered((n) => ({ text: `name ${n}`, aliases: [`first ${n}`, `second ${n}`, `${n}`] }))],
  ['Han characters', numbered((n) => ({ text: `${'漢字'.repeat(n % 9)}東京` }))],
])('bounds the memory of collected entries and of their sort: %s', (_, entries) => {
  const collector = collect(entries);
  const bytes = collector.entryBytes - PACKED_HEADER * entries.length;
  const { shape } = buildLayer(collector, { smallFormBytes: 0, allocate: ownMemory });
  const collected = collectorBytes({ count: entries.length, bytes });
  expect(collected).toBeGreaterThanOrEqual(collector.entryBytes + collector.formBytes);
  const { lists } = shape;
  const positionCount = (lists?.beginnings ?? 0) + (lists?.wordStarts ?? 0) + (lists?.otherStarts ?? 0);
  expect(sortBytes(shape)).toBeGreaterThanOrEqual(2 * Uint32Array.BYTES_PER_ELEMENT * positionCount);
});

it('counts no positions for a layer that has none', () => {
  const { shape } = buildLayer(collect([{ id: 'a', text: 'Anna' }]), { allocate: ownMemory });
  expect(sortBytes(shape)).toBeLessThan(100);
});
