import { hashId } from '../../../../src/base/text';
import { fillIdTable, placesFor, rankOfId } from '../../../../src/autocomplete/index/layer/id-table';
import type { EntryTable } from '../../../../src/autocomplete/index/layer/layer';
import { buildTable } from '../../../../src/autocomplete/index/build/builder';
import { packedSize, writePackedEntry } from '../../../../src/autocomplete/index/layer/packed-entry';
import { WorkMeter } from '../../../../src/autocomplete/index/work';
import { collect } from '../../../support/autocomplete/index-view';

const utf8 = (text: string): Buffer => Buffer.from(text);

/** A table with ids only. */
function tableOf(ids: readonly string[], idSeed: number): EntryTable {
  const size = ids.reduce((sum, id) => sum + packedSize(Buffer.byteLength(id), 0), 0);
  const [entries, entryAt] = [new Uint8Array(size), new Uint32Array(ids.length)];
  let at = 0;
  ids.forEach((id, rank) => {
    entryAt[rank] = at;
    at = writePackedEntry(entries, at, utf8(id), new Uint8Array());
  });
  const places = new Uint32Array(placesFor(ids.length)).fill(7);
  fillIdTable(places, { entries, entryAt }, ids.length, idSeed, new WorkMeter());
  return { ...buildTable(collect([])), count: ids.length, entries, entryAt, ids: places, idSeed };
}

const numbered = (count: number): string[] => Array.from({ length: count }, (_, n) => `product-${n}`);

it.each([0, 1, 2, 3, 1000])('finds every id of %i ids, and no other id', (count) => {
  const table = tableOf(numbered(count), 12_345);
  const ranks = numbered(count).map((id) => rankOfId(table, utf8(id)));
  expect(ranks).toEqual(Array.from({ length: count }, (_, rank) => rank));
  expect(rankOfId(table, utf8(`product-${count}`))).toBe(-1);
  expect(rankOfId(table, utf8('product-'))).toBe(-1);
  expect(rankOfId(table, utf8(''))).toBe(-1);
});

test('distinguishes ids that differ only in their length or in one byte', () => {
  const ids = ['a', 'aa', 'aaa', 'aaaa', 'aaaaa', 'aaaab', 'baaaa', 'é', 'é'.repeat(256)];
  const table = tableOf(ids, 2 ** 47 + 1);
  expect(ids.map((id) => rankOfId(table, utf8(id)))).toEqual(ids.map((_, rank) => rank));
});

it.each([0, 2 ** 48 - 2])('probes few places for 100,000 ids with the seed %i', (seed) => {
  const count = 100_000;
  const { ids } = tableOf(numbered(count), seed);
  let run = 0;
  let longest = 0;
  let squares = 0;
  for (const place of ids) {
    if (place === 0) {
      squares += run ** 2;
      run = 0;
    } else {
      run += 1;
    }
    longest = Math.max(longest, run);
  }
  // A search begins somewhere in a run of taken places, and ends at the end of the run at the latest.
  expect(longest).toBeLessThan(250);
  expect(squares / count).toBeLessThan(16);
});

test('gives an id unrelated places under different seeds', () => {
  const seeds = Array.from({ length: 1000 }, (_, n) => n);
  const hashes = new Set(seeds.map((seed) => hashId(utf8('product-1'), 0, 9, seed)));
  expect(hashes.size).toBe(1000);
  expect([...hashes].filter((hash) => hash < 2 ** 31).length).toBeGreaterThan(400);
});

test('uses both halves of the seed', () => {
  expect(hashId(utf8('a'), 0, 1, 5)).not.toBe(hashId(utf8('a'), 0, 1, 5 + 2 ** 32));
});
