import fc from 'fast-check';
import { PrefixTable } from '../../src/access/prefixes';

const NONE = -1;

test('the longest prefix gives the value', () => {
  const table = new PrefixTable(
    new Map([
      ['team-a/', 1],
      ['team-a/secret/', 2],
      ['team-ab/', 3],
    ]),
    NONE,
  );
  expect(table.find('team-a/x')).toBe(1);
  expect(table.find('team-a/')).toBe(1);
  expect(table.find('team-a/secret')).toBe(1);
  expect(table.find('team-a/secret/x')).toBe(2);
  expect(table.find('team-ab/x')).toBe(3);
  expect(table.find('team-a')).toBe(NONE);
  expect(table.find('')).toBe(NONE);
  expect(table.find('zzz')).toBe(NONE);
});

test('the empty prefix is the beginning of every name, also of the empty name', () => {
  const table = new PrefixTable(new Map([['', 7]]), NONE);
  expect([table.find(''), table.find('x')]).toEqual([7, 7]);
  expect(new PrefixTable(new Map(), NONE).find('x')).toBe(NONE);
});

test('the table agrees with a comparison of each prefix, byte by byte', () => {
  const unit = fc.constantFrom('a', 'b', '/', '*', 'é', 'e\u0301', '😀', '\u{FFFF}', '日');
  const text = fc.string({ unit, maxLength: 6 });
  fc.assert(
    fc.property(
      fc.uniqueArray(text, { maxLength: 20 }),
      fc.array(text, { maxLength: 20 }),
      (prefixes, names) => {
        const values = new Map(prefixes.map((prefix, index) => [prefix, index]));
        const table = new PrefixTable(values, NONE);
        for (const name of [...names, ...prefixes]) {
          const bytes = Buffer.from(name);
          const fitting = prefixes.filter((prefix) => {
            const beginning = Buffer.from(prefix);
            return bytes.subarray(0, beginning.length).equals(beginning);
          });
          const longest = fitting.sort((one, other) => Buffer.byteLength(other) - Buffer.byteLength(one))[0];
          expect(table.find(name)).toBe(longest === undefined ? NONE : values.get(longest));
        }
      },
    ),
    { numRuns: 500 },
  );
});
