import fc from 'fast-check';
import { planMerge, type LayerSize } from '../../../src/engine/autocomplete/loaded/merge-plan';

const FIRST_BYTES = 100;

function layer(bytes: number, rest: Partial<LayerSize> = {}): LayerSize {
  return { bytes, livingBytes: bytes, isMerging: false, ...rest };
}

const plan = (...layers: LayerSize[]) => planMerge(layers, FIRST_BYTES);

test('merges nothing while the first layer takes writes', () => {
  expect(plan()).toBeUndefined();
  expect(plan(layer(99))).toBeUndefined();
  expect(plan(layer(99), layer(5000))).toBeUndefined();
});

test('merges a full first layer alone if the next layer is much larger', () => {
  expect(plan(layer(100), layer(5000))).toEqual({ start: 0, end: 1 });
});

test('merges a full first layer with all layers that are not much larger than the merge so far', () => {
  expect(plan(layer(100), layer(400), layer(2000), layer(50_000))).toEqual({ start: 0, end: 3 });
});

test('leaves out layers whose merge is in progress', () => {
  expect(plan(layer(100), layer(100, { isMerging: true }))).toEqual({ start: 0, end: 1 });
  expect(plan(layer(100, { isMerging: true }), layer(100))).toBeUndefined();
});

test('merges two neighbouring layers of similar size while the first layer takes writes', () => {
  expect(plan(layer(10), layer(300), layer(500), layer(90_000))).toEqual({ start: 1, end: 3 });
});

test('merges a mostly dead layer alone', () => {
  expect(plan(layer(10), layer(5000, { livingBytes: 2000 }))).toEqual({ start: 1, end: 2 });
  expect(plan(layer(10), layer(5000, { livingBytes: 2000, isMerging: true }))).toBeUndefined();
});

test('keeps the number of layers and of rewrites small for any sequence of writes', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 500, maxLength: 1000 }), (writes) => {
      let layers: LayerSize[] = [];
      let written = 0;
      let rewritten = 0;
      for (const bytes of writes) {
        layers = [layer((layers[0]?.bytes ?? 0) + bytes), ...layers.slice(1)];
        written += bytes;
        for (let merge = planMerge(layers, FIRST_BYTES); merge; merge = planMerge(layers, FIRST_BYTES)) {
          const merged = layers.slice(merge.start, merge.end).reduce((sum, one) => sum + one.bytes, 0);
          rewritten += merged;
          const isFirst = merge.start === 0;
          layers = [
            ...(isFirst ? [layer(0)] : layers.slice(0, merge.start)),
            layer(merged),
            ...layers.slice(merge.end),
          ];
        }
      }
      expect(layers.length).toBeLessThanOrEqual(9);
      expect(rewritten).toBeLessThan(12 * written);
    }),
  );
});
