import fc from 'fast-check';
import { commonOf, markOf, nextMarkOf, sizeOf } from '../../../../src/autocomplete/index/build/branches';
import {
  buildLayer,
  buildTable,
  collectorBytes,
  sortBytes,
  updateTable,
} from '../../../../src/autocomplete/index/build/builder';
import { rankOfId } from '../../../../src/autocomplete/index/layer/id-table';
import {
  type EntryTable,
  isSuffixIndex,
  type SuffixIndex,
} from '../../../../src/autocomplete/index/layer/layer';
import { openLayer, ownMemory, sizeOfLayer } from '../../../../src/autocomplete/index/layer/layer-memory';
import { entryIdBytesAt, recordAt } from '../../../../src/autocomplete/index/layer/packed-entry';
import { fold } from '../../../../src/autocomplete/text/fold';
import { markWords } from '../../../../src/autocomplete/text/match';
import {
  collect,
  indexOf,
  layerOf,
  recordOf,
  someEntries,
  type TestEntry,
} from '../../../support/autocomplete/index-view';
import { assertWithinTime } from '../../../support/timed-property';

describe('the build of a layer', () => {
  const utf8 = (text: string): Buffer => Buffer.from(text);
  const scoreOf = ({ weight = 0, selections = 0 }: TestEntry): number => weight + selections;

  /** The forms of an entry as layer.ts describes them. */
  function formsOf({ text, aliases = [] }: TestEntry): string[] {
    const own = fold(text, 'kept');
    const others = aliases.map((alias) => fold(alias, 'kept')).filter((form) => form !== '');
    return [...new Set([own, ...others])];
  }

  function byRank(entries: readonly TestEntry[]): TestEntry[] {
    return [...entries].sort(
      (a, b) =>
        scoreOf(b) - scoreOf(a) ||
        Buffer.compare(utf8(fold(a.text, 'kept')), utf8(fold(b.text, 'kept'))) ||
        Buffer.compare(utf8(a.id), utf8(b.id)),
    );
  }

  /** The positions of all characters by list, each list in the order of positions. */
  function startsOf(entries: readonly TestEntry[]) {
    const starts = { beginnings: [] as number[], wordStarts: [] as number[], otherStarts: [] as number[] };
    let at = 0;
    for (const form of byRank(entries).flatMap(formsOf)) {
      starts.beginnings.push(at);
      let marked = false;
      for (const character of markWords(form)) {
        if (character === '\u0001') {
          marked = true;
          continue;
        }
        const isBeginning = starts.beginnings.at(-1) === at;
        if (!isBeginning) (marked ? starts.wordStarts : starts.otherStarts).push(at);
        marked = false;
        at += Buffer.byteLength(character);
      }
      at += 1;
    }
    return starts;
  }

  function suffixAt(forms: Uint8Array, at: number): Buffer {
    return Buffer.from(forms.subarray(at, forms.indexOf(0, at)));
  }

  const sortedBySuffix = (forms: Uint8Array, positions: readonly number[]): number[] =>
    positions
      .map((at) => ({ at, suffix: suffixAt(forms, at) }))
      .sort((a, b) => Buffer.compare(a.suffix, b.suffix) || a.at - b.at)
      .map(({ at }) => at);

  /** The mark of a character as branches.ts describes it; 0 after the last character. */
  function markAt(characters: readonly string[], at: number): number {
    const codePoint = characters[at]?.codePointAt(0);
    return codePoint === undefined ? 0 : 32 + (codePoint % 32);
  }

  /** The parts of the branches as branches.ts describes them. */
  function branchesOf(index: SuffixIndex) {
    const forms = [...index.beginnings.positions].map((at) => [...suffixAt(index.forms, at).toString()]);
    const starts = forms.map((form, element) => {
      const before = forms[element - 1] ?? [];
      const different = form.findIndex((character, at) => character !== before[at]);
      const common = Math.min(different < 0 ? form.length : different, 255);
      return { common, mark: markAt(form, common), nextMark: markAt(form, common + 1) };
    });
    return starts.map(({ common, mark, nextMark }, element) => {
      const isPart = (other: (typeof starts)[number]) =>
        other.common > common || (mark === 0 && other.mark === 0 && other.common === common);
      const size = starts.slice(element + 1).findIndex((other) => !isPart(other));
      return { common, mark, nextMark, size: size < 0 ? forms.length - element : size + 1 };
    });
  }

  function expectTable(table: EntryTable, entries: readonly TestEntry[]): void {
    const expected = byRank(entries);
    const forms = expected.map((entry) =>
      formsOf(entry)
        .map((form) => `${form}\0`)
        .join(''),
    );
    expect(table.count).toBe(entries.length);
    expect(Buffer.from(table.forms).toString()).toBe(forms.join(''));
    expect(table.formsAt).toHaveLength(entries.length + 1);
    let at = 0;
    const rows = expected.map((entry, rank) => {
      const row = { at, id: entry.id, isRecord: true, rank };
      at += Buffer.byteLength(forms[rank]!);
      return row;
    });
    const found = expected.map((entry, rank) => ({
      at: table.formsAt[rank],
      id: Buffer.from(entryIdBytesAt(table, rank)).toString(),
      isRecord: Buffer.compare(recordAt(table, rank), recordOf(entry)) === 0,
      rank: rankOfId(table, utf8(entry.id)),
    }));
    expect(found).toEqual(rows);
    expect(table.formsAt[entries.length]).toBe(table.forms.length);
    expect([...table.scores]).toEqual(expected.map(scoreOf));
    expect(rankOfId(table, utf8('no such id'))).toBe(-1);
  }

  function expectIndex(index: SuffixIndex, entries: readonly TestEntry[]): void {
    expectTable(index, entries);
    const starts = startsOf(entries);
    expect([...index.beginnings.positions]).toEqual(sortedBySuffix(index.forms, starts.beginnings));
    expect([...index.wordStarts.positions]).toEqual(sortedBySuffix(index.forms, starts.wordStarts));
    expect([...index.otherStarts.positions]).toEqual(sortedBySuffix(index.forms, starts.otherStarts));
    const branches = Array.from(index.branches, (branch) => ({
      common: commonOf(branch),
      mark: markOf(branch),
      nextMark: nextMarkOf(branch),
      size: sizeOf(branch),
    }));
    expect(branches).toEqual(branchesOf(index));
  }

  const numbered = (count: number, text: (n: number) => string): TestEntry[] =>
    Array.from({ length: count }, (_, n) => ({ id: `id-${n}`, text: text(n), weight: n % 7 }));

  test('builds the index that layer.ts describes, for any entries', () => {
    assertWithinTime(fc.property(someEntries(12), (entries) => expectIndex(indexOf(entries), entries)));
  });

  test('builds the table that layer.ts describes, for any entries', () => {
    assertWithinTime(
      fc.property(someEntries(12), (entries) => {
        expectTable(buildTable(collect(entries)), entries);
        expectTable(layerOf(entries, Infinity), entries);
      }),
    );
  });

  it.each([0, 1, 2, 31, 32, 33, 63, 64, 65, 1023, 1024, 1025])('builds an index of %i entries', (count) => {
    expectIndex(
      indexOf(numbered(count, (n) => `name ${n % 40}`)),
      numbered(count, (n) => `name ${n % 40}`),
    );
  });

  test('finds the only second word of 6,001 entries as the only word start', () => {
    const entries = numbered(6001, (n) => (n === 3000 ? 'new york' : `name${n}`));
    const { wordStarts, forms } = indexOf(entries);
    expect(wordStarts.positions).toHaveLength(1);
    expect(suffixAt(forms, wordStarts.positions[0]!).toString()).toBe('york');
  });

  test('ranks scores up to 2^53 - 1 exactly', () => {
    const scores = [
      2 ** 53 - 1,
      2 ** 53 - 2,
      2 ** 52 + 1,
      2 ** 52,
      2 ** 32,
      2 ** 32 - 1,
      65_536,
      65_535,
      1,
      0,
    ];
    const entries = scores.map((score, n) => ({
      id: `id-${n}`,
      text: `${n % 2}`,
      weight: score - (score % 3),
      selections: score % 3,
    }));
    expect([...buildTable(collect(entries.reverse())).scores]).toEqual(scores);
  });

  test('makes a layer with sorted positions only above the bound of small layers', () => {
    const entries = numbered(10, (n) => `name ${n}`);
    const { formBytes } = collect(entries);
    expect(isSuffixIndex(layerOf(entries, formBytes))).toBe(false);
    expect(isSuffixIndex(layerOf(entries, formBytes - 1))).toBe(true);
  });

  test('asks for memory once, with the exact size of the layer, and accepts a larger block', () => {
    const sizes: number[] = [];
    const entries = numbered(100, (n) => `name ${n}`);
    const memory = buildLayer(collect(entries), {
      smallFormBytes: 0,
      allocate: (size) => {
        sizes.push(size);
        return { buffer: new SharedArrayBuffer(size + 1000), byteOffset: 64 };
      },
    });
    expect(sizes).toEqual([sizeOfLayer(memory.shape)]);
    expectIndex(openLayer(memory) as SuffixIndex, entries);
  });

  test('divides its work into slices, and stops when a slice throws', () => {
    const entries = numbered(10_000, (n) => `a name with the number ${n}`);
    let slices = 0;
    const build = (stopAt: number) =>
      buildLayer(collect(entries), {
        allocate: (size) => ({ buffer: new ArrayBuffer(size), byteOffset: 0 }),
        onSlice: () => {
          slices += 1;
          if (slices === stopAt) throw new Error('cancelled');
        },
      });
    build(Infinity);
    expect(slices).toBeGreaterThan(5);
    slices = 0;
    expect(() => build(2)).toThrow('cancelled');
  });
});

describe('the update of a table', () => {
  const tableOf = (entries: readonly TestEntry[]): EntryTable => buildTable(collect(entries));

  /** Everything in a table except the seed and the places of its ids. */
  const contentOf = ({ count, forms, formsAt, scores, entries, entryAt }: EntryTable) => ({
    count,
    forms: [...forms],
    formsAt: [...formsAt],
    scores: [...scores],
    entries: [...entries],
    entryAt: [...entryAt],
  });

  test('gives the table that a build of all entries gives', () => {
    // The numbers choose entries of both lists, so some changed and some deleted ids are known.
    const choices = fc.array(fc.nat(20), { maxLength: 6 });
    assertWithinTime(
      fc.property(someEntries(12), someEntries(4), choices, choices, (entries, added, replaced, deleted) => {
        const changed = new Map(added.map((entry) => [entry.id, entry]));
        for (const choice of replaced) {
          const known = entries[choice];
          if (known) changed.set(known.id, { ...known, text: `${known.text} new`, weight: choice });
        }
        const deletedIds = deleted.map((choice) => entries[choice]?.id ?? `unknown ${choice}`);
        const rest = entries.filter(({ id }) => !changed.has(id) && !deletedIds.includes(id));
        const expected = tableOf([...rest, ...changed.values()]);

        const memory = updateTable(
          tableOf(entries),
          collect([...changed.values()]),
          deletedIds.map((id) => Buffer.from(id)),
        );
        const updated = openLayer(memory);
        expect(contentOf(updated)).toEqual(contentOf(expected));
        for (let rank = 0; rank < updated.count; rank++) {
          expect(rankOfId(updated, entryIdBytesAt(updated, rank))).toBe(rank);
        }
      }),
    );
  });

  test('leaves the given table as it is', () => {
    const entries = [
      { id: 'a', text: 'Anna', weight: 2 },
      { id: 'b', text: 'Bert', weight: 1 },
    ];
    const table = tableOf(entries);
    updateTable(table, collect([{ id: 'b', text: 'Berta', weight: 9 }]), [Buffer.from('a')]);
    expect(contentOf(table)).toEqual(contentOf(tableOf(entries)));
  });
});

describe('the memory of a build', () => {
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
});
