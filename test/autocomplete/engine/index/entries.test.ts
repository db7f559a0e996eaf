import fc from 'fast-check';
import { buildTable } from '../../../../src/autocomplete/index/build/builder';
import { EntryCollector, FormWriter } from '../../../../src/autocomplete/index/build/collector';
import { fillIdTable, placesFor, rankOfId } from '../../../../src/autocomplete/index/layer/id-table';
import { type EntryTable, isDead, NONE_DEAD, withDead } from '../../../../src/autocomplete/index/layer/layer';
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
import { WorkMeter } from '../../../../src/autocomplete/index/work';
import { unpackRecord } from '../../../../src/autocomplete/record';
import { fold } from '../../../../src/autocomplete/text/fold';
import { hashId } from '../../../../src/base/text';
import { anyText, scriptText } from '../../../support/autocomplete/dictionary-texts';
import {
  collect,
  layerOf,
  recordOf,
  someEntries,
  type TestEntry,
} from '../../../support/autocomplete/index-view';
import { assertWithinTime } from '../../../support/timed-property';

describe('the collection of entries', () => {
  const utf8 = (text: string): Buffer => Buffer.from(text);

  /** The collected entries as `id text score`, by rank. */
  function entriesOf(collector: EntryCollector): string[] {
    const table = buildTable(collector);
    return Array.from({ length: table.count }, (_, rank) => {
      const { text } = unpackRecord(recordAt(table, rank));
      return `${Buffer.from(entryIdBytesAt(table, rank)).toString()} ${text} ${table.scores[rank]}`;
    });
  }

  /** The forms of one entry. */
  function formsOf(entry: Omit<TestEntry, 'id'>, accents: 'kept' | 'dropped' = 'kept'): string[] {
    const { forms } = buildTable(collect([{ id: 'id', ...entry }], accents));
    return Buffer.from(forms).toString().split('\0').slice(0, -1);
  }

  describe('the last call for an id counts', () => {
    const put = (collector: EntryCollector, entry: TestEntry): void =>
      collector.put(utf8(entry.id), recordOf(entry), entry.selections);

    test('a put replaces the entry and keeps its selections', () => {
      const collector = collect([{ id: 'a', text: 'Old', weight: 1, selections: 10 }]);
      put(collector, { id: 'a', text: 'New', weight: 2 });
      expect(entriesOf(collector)).toEqual(['a New 12']);
    });

    test('a put with a count sets the selections', () => {
      const collector = collect([{ id: 'a', text: 'Old', selections: 10 }]);
      put(collector, { id: 'a', text: 'New', selections: 3 });
      expect(entriesOf(collector)).toEqual(['a New 3']);
    });

    test('a delete removes the entry and its selections', () => {
      const collector = collect([{ id: 'a', text: 'Old', selections: 10 }]);
      expect(collector.delete(utf8('a'))).toBe(true);
      expect(collector.delete(utf8('a'))).toBe(false);
      expect(collector.entryCount).toBe(0);
      put(collector, { id: 'a', text: 'New' });
      expect(entriesOf(collector)).toEqual(['a New 0']);
    });

    test('a selection counts only for an entry that is known', () => {
      const collector = collect([{ id: 'a', text: 'A', weight: 5, selections: 1 }]);
      expect(collector.select(utf8('a'), 7)).toBe(true);
      expect(collector.select(utf8('b'), 7)).toBe(false);
      expect(entriesOf(collector)).toEqual(['a A 12']);
    });

    test('an entry of a layer replaces the entry, with the score of the layer or with other selections', () => {
      const layer = buildTable(
        collect([
          { id: 'a', text: 'É', aliases: ['x', 'É'], weight: 5, selections: 2 },
          { id: 'b', text: 'B', weight: 1, selections: 2 },
        ]),
      );
      const collector = collect([{ id: 'a', text: 'Old', selections: 100 }]);
      collector.add(layer, 0);
      collector.add(layer, 1, 40);
      expect(entriesOf(collector)).toEqual(['b B 41', 'a É 7']);
      expect(Buffer.from(buildTable(collector).forms).toString()).toBe('b\0é\0x\0');
    });

    test('in any order of calls', () => {
      const id = fc.constantFrom('a', 'b', 'c');
      const call = fc.oneof(
        fc.record({
          call: fc.constant('put'),
          id,
          text: fc.constantFrom('x', 'Yé', ''),
          count: fc.option(fc.nat(9)),
        }),
        fc.record({ call: fc.constant('delete'), id }),
        fc.record({ call: fc.constant('select'), id, count: fc.nat(9) }),
      );
      assertWithinTime(
        fc.property(fc.array(call, { maxLength: 60 }), (calls) => {
          const collector = new EntryCollector('kept');
          const model = new Map<string, { text: string; count: number }>();
          for (const one of calls) {
            const known = model.get(one.id);
            if ('text' in one) {
              collector.put(utf8(one.id), recordOf({ id: one.id, text: one.text }), one.count ?? undefined);
              model.set(one.id, { text: one.text, count: one.count ?? known?.count ?? 0 });
            } else if ('count' in one) {
              expect(collector.select(utf8(one.id), one.count)).toBe(known !== undefined);
              if (known) known.count = one.count;
            } else {
              expect(collector.delete(utf8(one.id))).toBe(known !== undefined);
              model.delete(one.id);
            }
          }
          const expected = [...model].map(([id, { text, count }]) => `${id} ${text} ${count}`);
          expect(entriesOf(collector).sort()).toEqual(expected.sort());
          const table = buildTable(collector);
          expect(collector.entryCount).toBe(table.count);
          expect(collector.entryBytes).toBe(table.entries.length);
          expect(collector.formBytes).toBe(table.forms.length);
        }),
      );
    });
  });

  test('keeps every id while it grows from a small size', () => {
    const entries = Array.from({ length: 5000 }, (_, n) => ({
      id: `id ${n}`,
      text: `text ${n}`,
      weight: 5000 - n,
    }));
    const collector = collect(entries);
    for (let n = 0; n < 5000; n += 2) expect(collector.delete(utf8(`id ${n}`))).toBe(true);
    const odd = entries.filter((_, n) => n % 2 === 1);
    expect(entriesOf(collector)).toEqual(odd.map(({ id, text, weight }) => `${id} ${text} ${weight}`));
  });

  test('rejects a damaged record', () => {
    const collector = new EntryCollector('kept');
    const record = recordOf({ id: 'a', text: 'a longer text' });
    expect(() => collector.put(utf8('a'), record.subarray(0, 8))).toThrow(RangeError);
    expect(() => collector.put(utf8('a'), new Uint8Array())).toThrow(RangeError);
  });

  describe('forms', () => {
    test('the text is first, then the aliases, each form once and without empty aliases', () => {
      expect(formsOf({ text: 'Anna', aliases: ['ANNA', 'b', '', 'B', 'ann'] })).toEqual(['anna', 'b', 'ann']);
    });

    test('the form of the text may be empty', () => {
      expect(formsOf({ text: '\u0301', aliases: ['\u0301', 'x'] }, 'dropped')).toEqual(['', 'x']);
      expect(formsOf({ text: '\u0301' }, 'dropped')).toEqual(['']);
    });

    test('accents are dropped if the profile says so', () => {
      expect(formsOf({ text: 'Éva', aliases: ['eva', 'ÇA'] }, 'dropped')).toEqual(['eva', 'ca']);
      expect(formsOf({ text: 'Éva', aliases: ['eva'] }, 'kept')).toEqual(['éva', 'eva']);
    });
  });

  describe.each(['kept', 'dropped'] as const)('folding with accents %s', (accents) => {
    const folded = (writer: FormWriter, text: string): string => {
      const start = writer.length;
      writer.append(utf8(text), 0, Buffer.byteLength(text));
      return Buffer.from(writer.bytes.subarray(start, writer.length - 1)).toString();
    };

    test('gives the same form as fold, for texts of all scripts', () => {
      const writer = new FormWriter(accents);
      const text = fc.oneof(scriptText, anyText, fc.string({ unit: 'grapheme' }));
      assertWithinTime(
        fc.property(text, (one) => {
          expect(folded(writer, one)).toBe(fold(one, accents));
        }),
      );
    });

    test('gives the same form as fold, for every pair of a character and a neighbour that might compose', () => {
      const writer = new FormWriter(accents);
      const neighbours = ['a', 'Σ', '가', 'か', 'ا', '\u11a8', '\u0301', '\u0345', '\u3099', 'ﾞ', '\u0338'];
      const wrong: string[] = [];
      for (let codePoint = 1; codePoint < 0x10000; codePoint++) {
        // Of the many Han and Hangul characters, every seventeenth.
        if (codePoint > 0x3400 && codePoint < 0xd7a4) codePoint += 16;
        if (codePoint >= 0xd800 && codePoint < 0xe000) continue;
        const character = String.fromCodePoint(codePoint);
        const text = neighbours.map((one) => `${one}${character}${one}`).join(' ');
        if (folded(writer, text) !== fold(text, accents)) wrong.push(codePoint.toString(16));
      }
      expect(wrong).toEqual([]);
    });

    it.each([
      'İstanbul',
      'STRASSE Straße',
      'ﬁn',
      '\ufdfa',
      'ΣΊΣΥΦΟΣ ς',
      '\u1100\u1161\u11a8',
      '각',
      'a\u200db',
      'é e\u0301',
    ])('folds %s as fold does', (text) =>
      expect(folded(new FormWriter(accents), text)).toBe(fold(text, accents)),
    );
  });
});

describe('packed entries', () => {
  const id = fc.uint8Array({ maxLength: 512 });
  const record = fc.uint8Array({ maxLength: 2000 });

  test('reads the id and the record of each packed entry', () => {
    assertWithinTime(
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
    assertWithinTime(
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
    assertWithinTime(
      fc.property(form, form, (a, b) => {
        const order = Math.sign(compareForms(Buffer.from(`x${a}\0`), 1, Buffer.from(`${b}\0`), 0));
        expect(order).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
    );
  });

  test('orders the entries of two layers as one layer of all entries does', () => {
    assertWithinTime(
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
});

describe('the table of ids', () => {
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
});

const ranks = fc.array(fc.oneof(fc.nat(20), fc.nat(200_000), fc.constantFrom(32_767, 32_768)), {
  maxLength: 8,
});

describe('a dead set', () => {
  it('contains the added ranks and no others, and counts each rank once', () => {
    assertWithinTime(
      fc.property(fc.array(ranks, { maxLength: 5 }), ranks, (additions, others) => {
        const dead = additions.reduce(withDead, NONE_DEAD);
        const expected = new Set(additions.flat());
        expect(dead.count).toBe(expected.size);
        for (const rank of [...expected, ...others]) expect(isDead(dead, rank)).toBe(expected.has(rank));
      }),
    );
  });

  it('stays as it is when a larger set is made, and shares the pages without new ranks', () => {
    const first = withDead(NONE_DEAD, [1, 40_000]);
    const second = withDead(first, [2]);
    expect([isDead(first, 2), isDead(second, 2), isDead(second, 40_000)]).toEqual([false, true, true]);
    expect(second.pages[1]).toBe(first.pages[1]);
    expect(second.pages[0]).not.toBe(first.pages[0]);
  });

  it('is the same set if no rank is new', () => {
    const dead = withDead(NONE_DEAD, [5]);
    expect(withDead(dead, [5])).toBe(dead);
    expect(withDead(NONE_DEAD, [])).toBe(NONE_DEAD);
  });
});
