import fc from 'fast-check';
import {
  ABSENT,
  kindOfEntry,
  numberOf,
  queryOf,
  UNWANTED,
} from '../../../../src/autocomplete/index/search/query';
import { EditRows, MATCHES, typoIntervals, UNDECIDED } from '../../../../src/autocomplete/index/search/typos';
import { Work } from '../../../../src/autocomplete/index/work';
import { MATCH_KINDS, type MatchKind } from '../../../../src/autocomplete/suggestion';
import { fold } from '../../../../src/autocomplete/text/fold';
import {
  allowedEdits,
  isTypo,
  kindOf,
  packForms,
  wantedKinds,
} from '../../../../src/autocomplete/text/match';
import { indexOf, layerOf } from '../../../support/autocomplete/index-view';
import { assertWithinTime } from '../../../support/timed-property';

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
    assertWithinTime(
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
    );
  });
});

describe('typoIntervals', () => {
  it('contains each form that begins with a typo of the query but not with the query, and no other form', () => {
    assertWithinTime(
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

const kind = (texts: readonly string[], typed: string, ...kinds: MatchKind[]) => {
  const [text = '', ...aliases] = texts;
  return kindOfEntry(layerOf([{ id: '1', text, aliases }]), 0, queryOf(typed, wantedKinds(kinds, true)));
};

describe('kindOfEntry', () => {
  it.each([
    [['john smith'], 'john smith', 'exact'],
    [['john smith'], 'john', 'prefix'],
    [['john smith'], 'smi', 'word-prefix'],
    [['john smith'], 'mith', 'suffix'],
    [['john smith'], 'n s', 'contains'],
    [['west ger', 'germany', 'ger'], 'ger', 'exact'],
    [['¿who?'], 'who', 'word-prefix'],
    [['x\u0301y z'], 'y', 'contains'],
    [['東京 大阪'], '大', 'word-prefix'],
    [['a語b'], 'b', 'suffix'],
    [['a😀b c'], 'b', 'word-prefix'],
  ] as const)('matches %j for the query %j by %s', (texts, typed, expected) => {
    expect(kind(texts, typed)).toBe(numberOf(expected));
  });

  it('returns ABSENT if no form contains the query, also if the query spans two forms', () => {
    expect(kind(['john'], 'jonh')).toBe(ABSENT);
    expect(kind(['ab', 'cd'], 'bc')).toBe(ABSENT);
    expect(kind(['ab'], 'abc')).toBe(ABSENT);
  });

  it('returns UNWANTED if a form contains the query only by a kind that is not wanted', () => {
    expect(kind(['john smith'], 'smith', 'exact', 'prefix')).toBe(UNWANTED);
  });

  it('agrees with kindOf of match.ts for any forms, queries and kinds', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', 'b', ' ', '-', '語', '\u0301', '1', '😀'),
      maxLength: 6,
    });
    const kinds = fc.subarray([...MATCH_KINDS].filter((one) => one !== 'typo'));
    assertWithinTime(
      fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), text, kinds, (unfolded, typed, wanted) => {
        const texts = unfolded.map((one) => fold(one, 'kept'));
        fc.pre(typed !== '' && wanted.length > 0);
        const found = kind(texts, typed, ...wanted);
        const contained = texts.some((one) => one.includes(typed));
        const expected = kindOf(packForms(texts), typed, new Set(wanted));
        expect(found).toBe(contained ? numberOf(expected) : ABSENT);
      }),
    );
  });
});

describe('queryOf', () => {
  const kindsOf = (typed: string, ...kinds: MatchKind[]) =>
    queryOf(typed, wantedKinds(kinds, true)).kinds.map((number) => MATCH_KINDS[number]);

  it('matches the empty query only by the first wanted kind that fits every text', () => {
    expect(kindsOf('')).toEqual(['prefix']);
    expect(kindsOf('', 'contains', 'suffix', 'exact')).toEqual(['suffix']);
    expect(kindsOf('', 'exact', 'typo')).toEqual([]);
  });

  it('leaves out typos for queries of fewer than 4 characters', () => {
    expect(kindsOf('abc')).toEqual(MATCH_KINDS.slice(0, 5));
    expect(kindsOf('abcd')).toEqual(MATCH_KINDS);
    expect(kindsOf('😀😀')).toEqual(MATCH_KINDS.slice(0, 5));
  });
});

describe('the work of a search', () => {
  it('stops when the bound is reached, and stays stopped', () => {
    const work = new Work(10);
    expect([work.spend(9.5), work.spend(0.5), work.spend(0)]).toEqual([true, false, false]);
    expect(work.spent).toBe(10);
  });

  it('never stops without a bound', () => {
    expect(new Work().spend(1e12)).toBe(true);
  });

  it('stops immediately if it was cancelled before, and within 1000 steps if it is cancelled later', () => {
    const flag = new Int32Array(new SharedArrayBuffer(4));
    const work = new Work(Infinity, flag);
    expect(work.spend(1)).toBe(true);
    Atomics.store(flag, 0, 1);
    expect(work.spend(1000)).toBe(false);
    expect(new Work(Infinity, flag).spend(1)).toBe(false);
  });

  it('keeps its bound if it has a cancel flag too', () => {
    const work = new Work(1500, new Int32Array(new SharedArrayBuffer(4)));
    expect([work.spend(1000), work.spend(499), work.spend(1)]).toEqual([true, true, false]);
  });
});
