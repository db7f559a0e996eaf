import fc from 'fast-check';
import { type LayerSize, planMerge } from '../../../src/autocomplete/loaded/merges';

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
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 500, maxLength: 1000 }), (writes) => {
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
    }),
  );
});
