import fc from 'fast-check';
import { MAX_RECORD_BYTES, packRecord, unpackRecord } from '../../../src/autocomplete/record';

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 });
const record = fc.record({
  text,
  aliases: fc.array(text, { maxLength: 16 }),
  weight: fc.oneof(fc.maxSafeNat(), fc.constantFrom(0, 127, 128, 16_383, 16_384, 2 ** 52)),
  payload: fc.uint8Array({ maxLength: 1024 }),
});

test('unpacks each packed record unchanged', () => {
  fc.assert(
    fc.property(record, (packed) => {
      const { payload, ...rest } = unpackRecord(packRecord(packed));
      expect(rest).toEqual({ text: packed.text, aliases: packed.aliases, weight: packed.weight });
      expect(Buffer.compare(payload, packed.payload)).toBe(0);
    }),
  );
});

test('packs a short text in three more bytes', () => {
  const packed = packRecord({ text: 'Anna Strand', aliases: [], weight: 3, payload: new Uint8Array() });
  expect(packed.length).toBe('Anna Strand'.length + 3);
});

test('packs the largest record within the bound', () => {
  const text = '東'.repeat(170) + 'ab';
  const aliases = Array.from({ length: 16 }, () => text);
  const packed = packRecord({ text, aliases, weight: 2 ** 52, payload: new Uint8Array(1024) });
  expect(packed.length).toBeLessThan(MAX_RECORD_BYTES);
});

test('unpacks a copy of the payload, so that a small payload does not keep a large buffer in memory', () => {
  const packed = packRecord({ text: 'a', aliases: [], weight: 0, payload: Uint8Array.of(7) });
  const { payload } = unpackRecord(packed);
  packed.fill(0);
  expect([...payload]).toEqual([7]);
});
