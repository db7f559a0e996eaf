import fc from 'fast-check';
import { isTypo, typoMatch } from '../../../src/autocomplete/text/match';

/** The textbook algorithm of the optimal string alignment distance, which fills the whole matrix. */
function distance(a: readonly string[], b: readonly string[]): number {
  const rows = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (__, j) => (i === 0 ? j : j === 0 ? i : 0)),
  );
  for (let i = 1; i <= a.length; i += 1) {
    for (let j = 1; j <= b.length; j += 1) {
      const ways = [rows[i - 1]![j]! + 1, rows[i]![j - 1]! + 1];
      ways.push(rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        ways.push(rows[i - 2]![j - 2]! + 1);
      }
      rows[i]![j] = Math.min(...ways);
    }
  }
  return rows[a.length]![b.length]!;
}

/** Finds the best match by a comparison of the query with every beginning of the text. */
function naiveMatch(query: string, text: string): { distance: number; end: number } | undefined {
  const [typed, found] = [[...query], [...text]];
  const allowed = typed.length < 4 ? 0 : typed.length < 8 ? 1 : 2;
  if (allowed === 0 || typed[0] !== found[0]) return undefined;
  const matches = Array.from({ length: found.length + 1 }, (_, length) => ({
    distance: distance(typed, found.slice(0, length)),
    end: found.slice(0, length).join('').length,
  }));
  const nearest = Math.min(...matches.map((match) => match.distance));
  if (nearest > allowed) return undefined;
  const difference = (length: number) => Math.abs(length - typed.length);
  const lengths = matches.flatMap((match, length) => (match.distance === nearest ? [length] : []));
  const [best = 0] = lengths.sort((a, b) => difference(a) - difference(b) || b - a);
  return matches[best];
}

const letters = fc.constantFrom('a', 'b', 'é', '𐐨', '語');
const words = (minLength: number, maxLength: number) => fc.string({ unit: letters, minLength, maxLength });
/** Texts that have only two different letters. Many of them are similar. */
const alike = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom('a', '𐐨'), minLength, maxLength });

describe('isTypo and typoMatch', () => {
  it.each([
    ['jonh', 'john smith', 'two neighbours swapped'],
    ['jhn smith', 'john smith', 'one character missing'],
    ['joohn', 'john', 'one character too many'],
    ['jphn', 'john', 'one character replaced'],
    ['johx', 'joh', 'the last character too many'],
    ['fernadno', 'fernando alonso', 'one edit of two allowed'],
    ['frenadno', 'fernando', 'two edits in eight characters'],
    ['лшди', 'лиди', 'in any script'],
    ['𐐨𐐩𐐫𐐪', '𐐨𐐩𐐪𐐫', 'counted by code points, not by UTF-16 units'],
    ['john', 'john', 'the text is equal to the query'],
  ])('match the query %s to %s: %s', (query, text) => {
    expect(isTypo(query, text)).toBe(true);
  });

  it.each([
    ['jho', 'joh', 'the query is too short'],
    ['𐐨𐐩𐐫', '𐐨𐐫𐐩', 'the query has too few code points'],
    ['mohn', 'john', 'the first character differs'],
    ['ojhn', 'john', 'the first character is swapped'],
    ['jnox', 'john', 'two edits in four characters'],
    ['jhosn', 'john', 'two edits in five characters'],
    ['freadnoo', 'fernando', 'three edits in eight characters'],
    ['john', 'jo', 'half of the query is missing'],
    ['jonh', 'mary john', 'not at the beginning'],
    ['jonh', '', 'the text is empty'],
    ['', 'john', 'the query is empty'],
  ])('do not match the query %s to %s: %s', (query, text) => {
    expect(isTypo(query, text)).toBe(false);
  });

  it('choose the same beginning of the text as a search with the whole matrix of edit distances', () => {
    let found = 0;
    fc.assert(
      fc.property(alike(3, 11), alike(0, 14), (query, text) => {
        const expected = naiveMatch(query, text);
        expect(typoMatch(query, text)).toEqual(expected);
        expect(isTypo(query, text)).toBe(expected !== undefined);
        found += expected === undefined ? 0 : 1;
      }),
      { numRuns: 3000 },
    );
    expect(found).toBeGreaterThan(100);
  });

  it('agree with the whole matrix for up to three edits at any place', () => {
    const edit = fc.record({
      kind: fc.constantFrom('insert', 'delete', 'replace', 'swap'),
      place: fc.nat(),
      letter: letters,
    });
    fc.assert(
      fc.property(words(4, 20), words(0, 5), fc.array(edit, { maxLength: 3 }), (text, rest, edits) => {
        const typed = [...text];
        for (const { kind, place, letter } of edits) {
          const at = 1 + (place % typed.length);
          if (kind === 'insert') typed.splice(at, 0, letter);
          else if (kind === 'delete') typed.splice(at, 1);
          else if (kind === 'replace' && at < typed.length) typed[at] = letter;
          else if (at + 1 < typed.length) typed.splice(at, 2, typed[at + 1]!, typed[at]!);
        }
        const query = typed.join('');
        expect(typoMatch(query, text + rest)).toEqual(naiveMatch(query, text + rest));
      }),
      { numRuns: 3000 },
    );
  });

  it('find a typo at the end of the longest text', () => {
    const text = 'ab'.repeat(256);
    expect(typoMatch(`${text.slice(0, 510)}xy`, text)).toEqual({ distance: 2, end: 512 });
  });
});
