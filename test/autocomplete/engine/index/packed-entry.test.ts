import fc from 'fast-check';
import {
  compareEntries,
  compareForms,
  compareIds,
  entryIdBytesAt,
  packedSize,
  packedSizeAt,
  recordAt,
  writePackedEntry,
} from '../../../../src/autocomplete/index/layer/packed-entry';
import { layerOf, someEntries } from '../../../support/autocomplete/index-view';

const id = fc.uint8Array({ maxLength: 512 });
const record = fc.uint8Array({ maxLength: 2000 });

test('reads the id and the record of each packed entry', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(id, record), { maxLength: 5 }), (packed) => {
      const size = packed.reduce((sum, [oneId, one]) => sum + packedSize(oneId.length, one.length), 0);
      const entries = new Uint8Array(size);
      const entryAt = new Uint32Array(packed.length);
      let at = 0;
      packed.forEach(([oneId, one], rank) => {
        entryAt[rank] = at;
        at = writePackedEntry(entries, at, oneId, one);
        expect(packedSizeAt(entries, entryAt[rank])).toBe(at - entryAt[rank]);
      });
      expect(at).toBe(size);
      packed.forEach(([oneId, one], rank) => {
        expect([...entryIdBytesAt({ entries, entryAt }, rank)]).toEqual([...oneId]);
        expect([...recordAt({ entries, entryAt }, rank)]).toEqual([...one]);
      });
    }),
  );
});

test('orders ids by their bytes', () => {
  const short = fc.uint8Array({ maxLength: 3, max: 3 });
  fc.assert(
    fc.property(short, short, (a, b) => {
      const [packedA, packedB] = [a, b].map((one) => {
        const packed = new Uint8Array(packedSize(one.length, 0));
        writePackedEntry(packed, 0, one, new Uint8Array());
        return packed;
      });
      expect(Math.sign(compareIds(packedA!, 0, packedB!, 0))).toBe(Buffer.compare(a, b));
    }),
  );
});

test('orders forms by their bytes, also beyond the basic plane', () => {
  const form = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '\uffee', '😀'), maxLength: 4 });
  fc.assert(
    fc.property(form, form, (a, b) => {
      const order = Math.sign(compareForms(Buffer.from(`x${a}\0`), 1, Buffer.from(`${b}\0`), 0));
      expect(order).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
});

test('orders the entries of two layers as one layer of all entries does', () => {
  fc.assert(
    fc.property(someEntries(6), someEntries(6), (a, b) => {
      const others = b.filter((entry) => !a.some((one) => one.id === entry.id));
      const [tableA, tableB] = [layerOf(a), layerOf(others)];
      const all = layerOf([...a, ...others]);
      const ranked = [tableA, tableB]
        .flatMap((table) => Array.from({ length: table.count }, (_, rank) => ({ table, rank })))
        .sort((x, y) => compareEntries(x.table, x.rank, y.table, y.rank));
      const idsOf = ({ table, rank }: (typeof ranked)[number]): string =>
        Buffer.from(entryIdBytesAt(table, rank)).toString();
      const expected = Array.from({ length: all.count }, (_, rank) => idsOf({ table: all, rank }));
      expect(ranked.map(idsOf)).toEqual(expected);
    }),
  );
});
