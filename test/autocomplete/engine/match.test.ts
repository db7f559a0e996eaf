import fc from 'fast-check';
import { fold } from '../../../src/autocomplete/text/fold';
import {
  kindOf,
  markWords,
  packForms,
  wantedKinds,
  wordPrefixAt,
} from '../../../src/autocomplete/text/match';
import { MATCH_KINDS, type MatchKind } from '../../../src/autocomplete/suggestion';
import { anyText, scriptText } from '../../support/autocomplete/dictionary-texts';

const ALL = wantedKinds([], true);
const folded = fc.oneof(scriptText, anyText).map((text) => fold(text, 'kept').replace(/\p{Cc}/gu, ''));
const short = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '-', '語', '\u0301', '1'), maxLength: 6 });
const kind = (texts: readonly string[], query: string, ...kinds: MatchKind[]): MatchKind | undefined =>
  kindOf(packForms(texts), query, wantedKinds(kinds, true));

/** The indexes of letters and digits that follow no letter, digit or mark. */
function wordStarts(text: string): number[] {
  let before = '';
  let index = 0;
  const starts: number[] = [];
  for (const character of text) {
    const starting = index > 0 && /^[\p{L}\p{N}]$/u.test(character) && !/^[\p{L}\p{N}\p{M}]$/u.test(before);
    if (starting) starts.push(index);
    before = character;
    index += character.length;
  }
  return starts;
}

describe('markWords', () => {
  it.each([
    ['anna maria', 'anna |maria'],
    ["o'neil-smith 2nd", "o'|neil-|smith |2nd"],
    [' lead', ' |lead'],
    ['a  b', 'a  |b'],
    ['e\u0301t\u0301e x', 'e\u0301t\u0301e |x'],
    ['हिन्दी भाषा', 'हिन्दी |भाषा'],
    ['東京 大阪', '東京 |大阪'],
    ['x𐐨 𐐨', 'x𐐨 |𐐨'],
    ['(٣)', '(|٣)'],
    ['', ''],
  ])('marks the word starts of %j', (text, marked) => {
    expect(markWords(text)).toBe(marked.replaceAll('|', '\u0001'));
  });

  it('marks each letter or digit that follows no letter, digit or mark, in every script', () => {
    fc.assert(
      fc.property(fc.oneof(folded, short), (text) => {
        const marked = markWords(text);
        const parts = marked.split('\u0001');
        expect(parts.join('')).toBe(text);
        const places = parts.slice(0, -1).map((_, n) => parts.slice(0, n + 1).join('').length);
        expect(places).toEqual(wordStarts(text));
        expect(markWords(marked)).toBe(marked);
      }),
      { numRuns: 3000 },
    );
  });

  it('marks a query as it marks the same part of any longer text', () => {
    fc.assert(
      fc.property(
        fc.oneof(folded, short),
        fc.oneof(folded, short),
        fc.oneof(folded, short),
        (a, query, b) => {
          expect(markWords(a + query + b)).toContain(markWords(query));
        },
      ),
      { numRuns: 3000 },
    );
  });
});

describe('kindOf', () => {
  it.each([
    ['john smith', 'exact'],
    ['john', 'prefix'],
    ['smi', 'word-prefix'],
    ['mith', 'suffix'],
    ['n s', 'contains'],
    ['jonh', 'typo'],
    ['mary', undefined],
  ] as const)('matches the query %j to "john smith" by %s (chapter 1)', (query, expected) => {
    expect(kind(['john smith'], query)).toBe(expected);
  });

  it('returns the best kind among the text and its aliases', () => {
    expect(kind(['deutschland', 'germany', 'ger'], 'ger')).toBe('exact');
    expect(kind(['algeria', 'germany'], 'ger')).toBe('prefix');
    expect(kind(['algeria', 'west germany'], 'ger')).toBe('word-prefix');
  });

  it('matches the first word of a text that begins with punctuation by word-prefix', () => {
    expect(kind(['¿who?'], 'who')).toBe('word-prefix');
    expect(kind(['(old) apple'], 'old')).toBe('word-prefix');
    expect(kind(['¿who?'], '¿who')).toBe('prefix');
  });

  it('never matches a query that spans two forms', () => {
    expect(kind(['ab', 'cd'], 'bc')).toBeUndefined();
    expect(kind(['john', 'jane'], 'johnjane', 'contains', 'suffix')).toBeUndefined();
  });

  it('returns the best match kind among the wanted kinds', () => {
    expect(kind(['john smith'], 'john smith', 'contains', 'suffix')).toBe('suffix');
    expect(kind(['john smith'], 'john', 'contains', 'suffix')).toBe('contains');
    expect(kind(['john smith'], 'john', 'suffix', 'word-prefix', 'exact')).toBeUndefined();
    expect(kind(['john john'], 'john', 'word-prefix')).toBe('word-prefix');
  });

  it('returns typo only if no other kind matches, not even an unwanted kind', () => {
    expect(kind(['john'], 'jonh', 'typo')).toBe('typo');
    expect(kind(['john'], 'john', 'typo')).toBeUndefined();
    expect(kind(['jonas', 'my jonh'], 'jonh', 'typo')).toBeUndefined();
    expect(kind(['nobody', 'john paul'], 'jonh pual')).toBe('typo');
    expect(kindOf(packForms(['john']), 'jonh', wantedKinds([], false))).toBeUndefined();
    expect(kindOf(packForms(['john']), 'jonh', wantedKinds(['typo'], false))).toBeUndefined();
  });

  it('matches an empty query by the first wanted kind that fits every text', () => {
    expect(kind(['a'], '')).toBe('prefix');
    expect(kind([], '', 'contains', 'suffix', 'exact')).toBe('suffix');
    expect(kind(['a'], '', 'word-prefix', 'contains')).toBe('word-prefix');
    expect(kind(['a'], '', 'exact', 'typo')).toBeUndefined();
  });

  it('matches a query with word marks like a query without word marks', () => {
    expect(kindOf(packForms(['a john smith']), markWords('john smith'), ALL)).toBe('word-prefix');
    expect(kindOf(packForms(['ab cdefg']), markWords('ab cdfeg'), ALL)).toBe('typo');
  });

  it('agrees with the definitions of the match kinds for any texts and queries', () => {
    const kinds = fc.subarray(
      [...MATCH_KINDS].filter((kind) => kind !== 'typo'),
      { minLength: 1 },
    );
    const texts = fc.array(fc.oneof(short, folded), { maxLength: 3 });
    const query = short.filter((text) => text !== '');
    fc.assert(
      fc.property(texts, query, kinds, (all, typed, wanted) => {
        const some = (holds: (text: string) => boolean): boolean => all.some(holds);
        const truths: Partial<Record<MatchKind, boolean>> = {
          exact: some((text) => text === typed),
          prefix: some((text) => text.startsWith(typed)),
          'word-prefix': some((text) => wordStarts(text).some((start) => text.startsWith(typed, start))),
          suffix: some((text) => text.endsWith(typed)),
          contains: some((text) => text.includes(typed)),
        };
        expect(kind(all, typed, ...wanted)).toBe(wanted.find((candidate) => truths[candidate]));
      }),
      { numRuns: 5000 },
    );
  });
});

it('packForms leaves out duplicate and empty forms', () => {
  expect(packForms(['b a', 'c', 'b a', '', 'c'])).toBe('\u0002b \u0001a\u0003\u0002c\u0003');
  expect(packForms([''])).toBe('');
});

it('wordPrefixAt finds the first word that starts with the query, except at the beginning of the text', () => {
  expect(wordPrefixAt('(an) ant', 'an')).toBe(1);
  expect(wordPrefixAt('an annex, an ant', 'an')).toBe(3);
  expect(wordPrefixAt('𐐨 𐐨 𐐩𐐩 b', '𐐩𐐩 b')).toBe(6);
  expect(wordPrefixAt('ann', 'ann')).toBe(-1);
  expect(wordPrefixAt('a -b', '-b')).toBe(-1);
});
