import fc from 'fast-check';
import { EntryCollector } from '../../src/autocomplete/index/build/collector';
import { buildLayer } from '../../src/autocomplete/index/build/builder';
import { isSuffixIndex, type Layer, type SuffixIndex } from '../../src/autocomplete/index/layer/layer';
import { openLayer } from '../../src/autocomplete/index/layer/layer-memory';
import { packRecord } from '../../src/autocomplete/record';
import type { Profile } from '../../src/autocomplete/suggestion';
import { anyText, scriptText } from './scripts-of-the-world';

/** An entry as the tests of the index write it. */
export interface TestEntry {
  readonly id: string;
  readonly text: string;
  readonly aliases?: readonly string[];
  readonly weight?: number;
  readonly selections?: number;
}

export const recordOf = ({ text, aliases = [], weight = 0 }: TestEntry): Buffer =>
  packRecord({ text, aliases, weight, payload: new Uint8Array() });

export function collect(entries: readonly TestEntry[], accents: Profile['accents'] = 'kept'): EntryCollector {
  const collector = new EntryCollector(accents);
  for (const entry of entries) collector.put(Buffer.from(entry.id), recordOf(entry), entry.selections);
  return collector;
}

/** A layer in shared memory. Without `smallFormBytes` the layer has sorted positions. */
export function layerOf(entries: readonly TestEntry[], smallFormBytes = -1): Layer {
  const memory = buildLayer(collect(entries), {
    smallFormBytes,
    // Old content shows whether the builder writes every element.
    allocate: (size) => {
      const buffer = new SharedArrayBuffer(size);
      new Uint8Array(buffer).fill(0xee);
      return { buffer, byteOffset: 0 };
    },
  });
  return openLayer(memory);
}

export function indexOf(entries: readonly TestEntry[]): SuffixIndex {
  const layer = layerOf(entries);
  if (!isSuffixIndex(layer)) throw new Error('The layer has no sorted positions.');
  return layer;
}

/** Short texts of few letters repeat words and have equal beginnings. No text has control characters. */
const repetitiveText = fc.string({
  unit: fc.constantFrom('a', 'b', 'é', ' ', '-', '漢', '\u0301', '😀'),
  maxLength: 8,
});
const text = fc.oneof(repetitiveText, scriptText, anyText).map((one) => one.replace(/\p{Cc}/gu, ''));

export const someEntries = (maxLength: number): fc.Arbitrary<TestEntry[]> =>
  fc.uniqueArray(
    fc.record({
      id: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 4 }).map((id) => `id ${id}`),
      text,
      aliases: fc.array(text, { maxLength: 3 }),
      weight: fc.oneof(fc.nat(3), fc.constantFrom(65_535, 65_536, 2 ** 32, 2 ** 52)),
      selections: fc.nat(2),
    }),
    { selector: ({ id }) => id, maxLength },
  );
