import fc from 'fast-check';
import { EditRows, MATCHES, typoIntervals, UNDECIDED } from '../../../../src/autocomplete/index/search/typos';
import { queryOf } from '../../../../src/autocomplete/index/search/query';
import { Work } from '../../../../src/autocomplete/index/work';
import { allowedEdits, isTypo } from '../../../../src/autocomplete/text/match';
import { indexOf } from '../../../support/autocomplete/index-view';

/** Few characters, so that many are equal. Some have the same mark (branches.ts). */
const unit = fc.constantFrom(...'abcé東😀á');
/** Many characters, so that most are not near in a query. */
const manyUnits = fc.constantFrom(...'abcdefghijklmnoáâå東😀');
const queryOfUnits = (units: fc.Arbitrary<string>) => fc.string({ unit: units, minLength: 4, maxLength: 12 });
const formOfUnits = (units: fc.Arbitrary<string>) =>
  fc.string({
    unit: fc.oneof({ weight: 7, arbitrary: units }, fc.constant(' ')),
    minLength: 1,
    maxLength: 16,
  });
/** A form near a query. */
const nearly = (typed: string, units: fc.Arbitrary<string>) =>
  fc
    .array(fc.tuple(fc.nat(12), fc.nat(2), fc.oneof(units, fc.constant(''), fc.constant('swap'))), {
      maxLength: 3,
    })
    .map((edits) => {
      const characters = [...typed];
      for (const [at, removed, added] of edits) {
        const from = 1 + (at % 12);
        if (added === 'swap') characters.splice(from, 2, ...characters.slice(from, from + 2).reverse());
        else characters.splice(from, removed, ...[...added]);
      }
      return characters.join('');
    });

function matchesByRows(rows: EditRows, characters: readonly number[], sharedDepth: number): boolean {
  for (let depth = sharedDepth + 1; depth <= characters.length; depth += 1) {
    const verdict = rows.add(characters[depth - 1] as number, depth);
    if (verdict !== UNDECIDED) return verdict === MATCHES;
  }
  return false;
}

const codePoints = (text: string) => Array.from(text, (character) => character.codePointAt(0) as number);

/** Compares the found forms with those of match.ts, and returns the texts of these. */
function expectTypos(typed: string, texts: readonly string[]): string[] {
  const index = indexOf(texts.map((text, number) => ({ id: `${number}`, text })));
  const intervals = typoIntervals(index, queryOf(typed, new Set(['typo'])), new Work()) ?? [];
  const found = intervals.flatMap(({ from, to }) => [...index.beginnings.positions.subarray(from, to)]);
  const textAt = (at: number) => Buffer.from(index.forms.subarray(at, index.forms.indexOf(0, at))).toString();
  const expected = [...index.beginnings.positions].filter(
    (at) => isTypo(typed, textAt(at)) && !textAt(at).startsWith(typed),
  );
  expect(found).toEqual(expected);
  return found.map(textAt);
}

describe('EditRows', () => {
  it('agrees with isTypo of match.ts on forms with the same first character', () => {
    fc.assert(
      fc.property(
        queryOfUnits(unit).chain((typed) =>
          fc.tuple(fc.constant(typed), fc.oneof(nearly(typed, unit), formOfUnits(unit))),
        ),
        ([typed, other]) => {
          const text = [...typed][0] + [...other].slice(1).join('');
          const typedCodePoints = codePoints(typed);
          const rows = new EditRows(typedCodePoints, allowedEdits(typedCodePoints.length));
          expect(matchesByRows(rows, codePoints(text), 0)).toBe(isTypo(typed, text));
        },
      ),
      { numRuns: 2500 },
    );
  });
});

describe('typoIntervals', () => {
  it('contains each form that begins with a typo of the query but not with the query, and no other form', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(unit, manyUnits).chain((units) =>
          queryOfUnits(units).chain((typed) => {
            const near = nearly(typed, units);
            return fc.tuple(
              fc.constant(typed),
              fc.array(fc.oneof(near, near, formOfUnits(units)), { maxLength: 60 }),
            );
          }),
        ),
        ([typed, texts]) => void expectTypos(typed, texts),
      ),
      { numRuns: 500 },
    );
  });

  it.each([
    ['abcde', ['abd', 'abde']],
    ['abcdefgh', ['abb', 'abb0y', 'abc', 'abc0efgz']],
  ])('finds the typos of %s after texts that end or differ earlier', (typed, texts) => {
    expect(expectTypos(typed, texts)).toEqual(texts.slice(-1));
  });

  it('finds typos in texts of more than 255 characters with a common beginning', () => {
    const beginning = 'ab'.repeat(140);
    const texts = ['xy', 'xz', 'yx', '', 'x'].map((end) => beginning + end);
    expect(expectTypos(`${beginning}xyy`, texts)).toEqual(
      ['x', 'xy', 'xz', 'yx'].map((end) => beginning + end),
    );
  });

  it('finds typos before and after branches with more elements than the largest size', () => {
    const long = Array.from({ length: 5000 }, (_, number) => `abx${number}`);
    const equal = Array.from({ length: 5000 }, () => 'abz');
    const texts = [...long, ...equal, 'abcd', 'abdc1', 'abxd1', 'abzdd', 'abed'];
    expect(expectTypos('abcdd', texts)).toEqual(['abcd', 'abzdd']);
  });

  it('stops at the bound of work', () => {
    const index = indexOf(
      Array.from({ length: 200 }, (_, number) => ({ id: `${number}`, text: `a${number}bcdefg` })),
    );
    expect(typoIntervals(index, queryOf('abcdefgh', new Set(['typo'])), new Work(20))).toBeUndefined();
  });
});
