import fc from 'fast-check';
import { fold } from '../../../../src/autocomplete/text/fold';
import {
  ABSENT,
  kindOfEntry,
  numberOf,
  queryOf,
  UNWANTED,
} from '../../../../src/autocomplete/index/search/query';
import { kindOf, packForms, wantedKinds } from '../../../../src/autocomplete/text/match';
import { MATCH_KINDS, type MatchKind } from '../../../../src/autocomplete/suggestion';
import { layerOf } from '../../../support/autocomplete/index-view';

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
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), text, kinds, (unfolded, typed, wanted) => {
        const texts = unfolded.map((one) => fold(one, 'kept'));
        fc.pre(typed !== '' && wanted.length > 0);
        const found = kind(texts, typed, ...wanted);
        const contained = texts.some((one) => one.includes(typed));
        const expected = kindOf(packForms(texts), typed, new Set(wanted));
        expect(found).toBe(contained ? numberOf(expected) : ABSENT);
      }),
      { numRuns: 2000 },
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
