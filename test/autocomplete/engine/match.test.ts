import fc from 'fast-check';
import {
  characterBefore,
  characterLength,
  classOf,
  codePointAt,
  isContinuation,
  LETTER_OR_DIGIT,
  MARK,
  OTHER,
} from '../../../src/autocomplete/index/build/characters';
import { MATCH_KINDS, type MatchKind } from '../../../src/autocomplete/suggestion';
import { fold } from '../../../src/autocomplete/text/fold';
import {
  isTypo,
  kindOf,
  markWords,
  packForms,
  typoMatch,
  wantedKinds,
  wordPrefixAt,
} from '../../../src/autocomplete/text/match';
import { anyText, scriptText } from '../../support/autocomplete/dictionary-texts';
import { anyCharacter, assertWithinTime } from '../../support/timed-property';

describe('matches', () => {
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
      assertWithinTime(
        fc.property(fc.oneof(folded, short), (text) => {
          const marked = markWords(text);
          const parts = marked.split('\u0001');
          expect(parts.join('')).toBe(text);
          const places = parts.slice(0, -1).map((_, n) => parts.slice(0, n + 1).join('').length);
          expect(places).toEqual(wordStarts(text));
          expect(markWords(marked)).toBe(marked);
        }),
      );
    });

    it('marks a query as it marks the same part of any longer text', () => {
      assertWithinTime(
        fc.property(
          fc.oneof(folded, short),
          fc.oneof(folded, short),
          fc.oneof(folded, short),
          (a, query, b) => {
            expect(markWords(a + query + b)).toContain(markWords(query));
          },
        ),
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
      assertWithinTime(
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
});

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
    assertWithinTime(
      fc.property(alike(3, 11), alike(0, 14), (query, text) => {
        const expected = naiveMatch(query, text);
        expect(typoMatch(query, text)).toEqual(expected);
        expect(isTypo(query, text)).toBe(expected !== undefined);
        found += expected === undefined ? 0 : 1;
      }),
    );
    expect(found).toBeGreaterThan(0);
  });

  it('agree with the whole matrix for up to three edits at any place', () => {
    const edit = fc.record({
      kind: fc.constantFrom('insert', 'delete', 'replace', 'swap'),
      place: fc.nat(),
      letter: letters,
    });
    assertWithinTime(
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
    );
  });

  it('find a typo at the end of the longest text', () => {
    const text = 'ab'.repeat(256);
    expect(typoMatch(`${text.slice(0, 510)}xy`, text)).toEqual({ distance: 2, end: 512 });
  });
});

describe('UTF-8', () => {
  const wellFormed = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 20 });

  test('reads the code points and lengths of any text', () => {
    assertWithinTime(
      fc.property(wellFormed, (text) => {
        const bytes = Buffer.from(text);
        let at = 0;
        for (const character of text) {
          expect(codePointAt(bytes, at)).toBe(character.codePointAt(0));
          expect(characterLength(bytes[at]!)).toBe(Buffer.byteLength(character));
          at += Buffer.byteLength(character);
          expect(characterBefore(bytes, at)).toBe(at - Buffer.byteLength(character));
        }
      }),
    );
  });

  test('tells the bytes within a character from its first byte', () => {
    const continuations = [...Buffer.from('aé漢😀')].map(isContinuation);
    expect(continuations).toEqual([false, false, true, false, true, true, false, true, true, true]);
  });
});

describe('the classes of characters', () => {
  test('classifies each code point of Unicode as a letter or digit, as a mark, or as neither', () => {
    const wrong: string[] = [];
    for (let codePoint = 0; codePoint < 0x110000; codePoint++) {
      const character = String.fromCodePoint(codePoint);
      const expected = /[\p{L}\p{N}]/u.test(character)
        ? LETTER_OR_DIGIT
        : /\p{M}/u.test(character)
          ? MARK
          : OTHER;
      if (classOf(codePoint) !== expected) wrong.push(codePoint.toString(16));
    }
    expect(wrong).toEqual([]);
  });
});
