import fc from 'fast-check';
import { EditRows, MATCHES, UNDECIDED } from '../../../../src/engine/autocomplete/index/edit-rows';
import { queryOf } from '../../../../src/engine/autocomplete/index/query';
import { typoIntervals } from '../../../../src/engine/autocomplete/index/typo-intervals';
import { Work } from '../../../../src/engine/autocomplete/index/work';
import { allowedEdits, isTypo } from '../../../../src/engine/autocomplete/typo';
import { indexOf } from '../../../support/collected-entries';

const unit = fc.constantFrom('a', 'b', 'c', 'é', '東', '😀');
const query = fc.string({ unit, minLength: 4, maxLength: 12 });
const form = fc.string({
  unit: fc.constantFrom('a', 'b', 'c', 'é', '東', '😀', ' '),
  minLength: 1,
  maxLength: 16,
});
/** A form near a query. */
const nearly = (typed: string) =>
  fc.array(fc.tuple(fc.nat(12), fc.nat(2), unit), { maxLength: 3 }).map((edits) => {
    const characters = [...typed];
    for (const [at, removed, added] of edits) characters.splice(1 + (at % 12), removed, added);
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

describe('EditRows', () => {
  it('agrees with isTypo of typo.ts on forms with the same first character', () => {
    fc.assert(
      fc.property(
        query.chain((typed) => fc.tuple(fc.constant(typed), fc.oneof(nearly(typed), form))),
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
        query.chain((typed) =>
          fc.tuple(
            fc.constant(typed),
            fc.array(fc.oneof(nearly(typed), nearly(typed), form), { maxLength: 30 }),
          ),
        ),
        ([typed, texts]) => {
          const index = indexOf(texts.map((text, number) => ({ id: `${number}`, text })));
          const intervals = typoIntervals(index, queryOf(typed, new Set(['typo'])), new Work()) ?? [];
          const found = intervals.flatMap(({ from, to }) => [
            ...index.beginnings.positions.subarray(from, to),
          ]);
          const expected = [...index.beginnings.positions].filter((at) => {
            const text = Buffer.from(index.forms.subarray(at, index.forms.indexOf(0, at))).toString();
            return isTypo(typed, text) && !text.startsWith(typed);
          });
          expect(found).toEqual(expected);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('finds typos in texts of more than 255 characters with a common beginning', () => {
    const beginning = 'ab'.repeat(140);
    const texts = ['xy', 'xz', 'yx', '', 'x'].map((end) => beginning + end);
    const index = indexOf(texts.map((text, number) => ({ id: `${number}`, text })));
    const typed = `${beginning}xyy`;
    const intervals = typoIntervals(index, queryOf(typed, new Set(['typo'])), new Work()) ?? [];
    const count = intervals.reduce((sum, { from, to }) => sum + to - from, 0);
    expect(count).toBe(texts.filter((text) => isTypo(typed, text)).length);
  });

  it('stops at the bound of work', () => {
    const index = indexOf(
      Array.from({ length: 200 }, (_, number) => ({ id: `${number}`, text: `a${number}bcdefg` })),
    );
    expect(typoIntervals(index, queryOf('abcdefgh', new Set(['typo'])), new Work(20))).toBeUndefined();
  });
});
