import fc from 'fast-check';
import { fold } from '../../../../src/autocomplete/text/fold';
import { EntryCollector, FormWriter } from '../../../../src/autocomplete/index/build/collector';
import { buildTable } from '../../../../src/autocomplete/index/build/builder';
import { entryIdBytesAt, recordAt } from '../../../../src/autocomplete/index/layer/packed-entry';
import { unpackRecord } from '../../../../src/autocomplete/record';
import { collect, recordOf, type TestEntry } from '../../../support/autocomplete/index-view';
import { anyText, scriptText } from '../../../support/autocomplete/dictionary-texts';

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
    fc.assert(
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
    fc.assert(
      fc.property(text, (one) => {
        expect(folded(writer, one)).toBe(fold(one, accents));
      }),
      { numRuns: 3000 },
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
