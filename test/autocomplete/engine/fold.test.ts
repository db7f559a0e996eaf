import fc from 'fast-check';
import { MATCH_KINDS, type MatchKind, type Profile } from '../../../src/autocomplete/suggestion';
import { fold, foldCase, withoutMarks } from '../../../src/autocomplete/text/fold';
import { kindOf, packForms, wantedKinds } from '../../../src/autocomplete/text/match';
import { segments } from '../../../src/autocomplete/text/segments';
import { anyText, scriptText } from '../../support/autocomplete/dictionary-texts';
import { assertWithinTime, IS_LONG } from '../../support/timed-property';

/** The table of foldings has the characters of Unicode 17. A newer Node knows more characters. */
const TABLE_IS_COMPLETE = Number(process.versions.unicode) <= 17;

/** Every character that this Node knows. */
const everyCharacter: readonly string[] = Array.from({ length: 0x110000 }, (_, codePoint) =>
  String.fromCodePoint(codePoint),
).filter((character) => !/[\p{Unassigned}\p{Private_Use}\p{Surrogate}]/u.test(character));

const lengthOf = (text: string): number => [...text].length;
const hex = (character: string): string => character.codePointAt(0)!.toString(16);

describe('foldCase', () => {
  it('folds a character to a character that Node considers the same letter', () => {
    const pairs = everyCharacter
      .filter((character) => foldCase(character) !== character && lengthOf(foldCase(character)) === 1)
      .map((character) => [character, foldCase(character)] as const);
    expect(pairs.length).toBeGreaterThan(1300);
    const wrongPairs = pairs.filter(([from, to]) => !new RegExp(`^${to}$`, 'iu').test(from));
    expect(wrongPairs.map(([from]) => hex(from))).toEqual([]);
    // A folded character does not change when folded again.
    expect(pairs.filter(([, to]) => foldCase(to) !== to)).toEqual([]);
  });

  it('folds a character to the small letters of its capital form, if the capital form has several letters', () => {
    const expected = new Map(
      everyCharacter
        .map((character) => [character, character.toUpperCase().toLowerCase()] as const)
        .filter(([character, small]) => lengthOf(small) > 1 && character !== 'İ'),
    );
    // These two characters are exceptions, because they are their own capital form.
    expected.set('ẞ', 'ss').set('İ', 'i\u0307');
    const found = everyCharacter.filter((character) => lengthOf(foldCase(character)) > 1);
    expect(found).toHaveLength(104);
    expect(new Map(found.map((character) => [character, foldCase(character)]))).toEqual(expected);
  });

  (TABLE_IS_COMPLETE ? it : it.skip)('folds exactly the characters that Node folds', () => {
    const wrong = everyCharacter.filter((character) => {
      const decomposed = character.normalize('NFD');
      const changes = foldCase(decomposed) !== decomposed;
      return changes !== /\p{Changes_When_Casefolded}/u.test(character);
    });
    expect(wrong.map(hex)).toEqual([]);
  });

  it.each([
    ['Straße', 'strasse'],
    ['ΣΊΣΥΦΟΣ', 'σίσυφοσ'],
    ['Σίσυφος', 'σίσυφοσ'],
    ['İ', 'i\u0307'],
    ['Iı', 'iı'],
    ['ꭰᏰ', 'ᎠᏰ'],
    ['ŒUVRE', 'œuvre'],
    ['𐐀𞤀', '𐐨𞤢'],
  ])('folds %s to %s', (text, folded) => {
    expect(foldCase(text)).toBe(folded);
  });
});

describe('fold', () => {
  it.each([
    ['straße', 'STRASSE'],
    ['Ｆｕｌｌ　ｗｉｄｔｈ', 'full width'],
    ['ｶﾞﾗｽ', 'ガラス'],
    ['ﬁne eﬃcient', 'FINE EFFICIENT'],
    ['\u212bngstro\u0308m', 'ÅNGSTRÖM'],
    ['ǅ ǆ', 'Ǆ dž'],
    ['ㄱㅏ', '가'],
    ['ᾳ', 'ΑΙ'],
    ['Ⅷ ①', 'viii 1'],
    ['ﻣﺮﺣﺒﺎ', 'مرحبا'],
  ])('folds %s and %s to the same text (chapter 10: any character)', (text, other) => {
    expect(fold(text, 'kept')).toBe(fold(other, 'kept'));
  });

  it('keeps or drops accents as the profile says', () => {
    expect(fold('Résumé', 'kept')).toBe('résumé');
    expect(fold('Re\u0301sume\u0301', 'kept')).toBe('résumé');
    expect(fold('Résumé', 'dropped')).toBe('resume');
    expect(fold('Tiếng Việt', 'dropped')).toBe('tieng viet');
    expect(fold('İSTANBUL', 'dropped')).toBe('istanbul');
    expect(fold('ΆΪΆΪ', 'dropped')).toBe('αιαι');
  });

  it('keeps marks that are parts of letters when it drops accents', () => {
    for (const text of ['กำลังใจ', 'हिन्दी', 'ガラス', 'ハ\u309a', '한국어', 'বাংলা', 'ខ្មែរ', 'தமிழ்', 'ལྷ་ས']) {
      expect(fold(text, 'dropped')).toBe(fold(text, 'kept'));
    }
  });

  it.each([
    ['Hebrew', 'עִבְרִית', 'עברית'],
    ['Hebrew presentation forms', 'שּׁלום', 'שלום'],
    ['Arabic', 'مُحَمَّد', 'محمد'],
    ['Arabic with hamza and madda', 'أحمد آل', 'احمد ال'],
    ['Arabic with a superscript alef', 'رحمٰن', 'رحمن'],
    ['Syriac', 'ܫܠܳܡܳܐ', 'ܫܠܡܐ'],
    ['Cyrillic', 'йо\u0301ҋ\u0483', 'иоҋ'],
    ['Greek', 'Ἀθῆναι', 'αθηναι'],
    ['Devanagari with a Vedic accent', 'क\u0951', 'क'],
    ['enclosed and selected forms', '1\ufe0f\u20e3 ❤\ufe0f', '1 ❤'],
  ])('drops the accents and points of %s', (_script, text, plain) => {
    expect(fold(text, 'dropped')).toBe(plain);
    expect(fold(text, 'kept')).not.toBe(plain);
  });

  it('drops exactly the marks of Latin, Greek, Cyrillic, Hebrew, Arabic, Syriac, and of no single script', () => {
    const dropped =
      /^(?=[\p{Mn}\p{Me}])[\p{sc=Zinh}\p{sc=Latn}\p{sc=Grek}\p{sc=Cyrl}\p{sc=Hebr}\p{sc=Arab}\p{sc=Syrc}]$/u;
    const wrong = everyCharacter.filter(
      (character) =>
        (withoutMarks(character) === '') !== (dropped.test(character) && !/[\u3099\u309a]/.test(character)),
    );
    expect(wrong.map(hex)).toEqual([]);
    expect(everyCharacter.filter((character) => withoutMarks(character) === '').length).toBeGreaterThan(700);
  });

  it('does not change white space', () => {
    expect(fold('  A  b ', 'kept')).toBe('  a  b ');
  });

  it('folds a text of accents alone to the empty text when it drops accents', () => {
    expect(fold('\u0301', 'kept')).toBe('\u0301');
    expect(fold('\u0301\u20dd', 'dropped')).toBe('');
  });

  it.each(['kept', 'dropped'] as const)('does not change a folded text, accents %s', (accents) => {
    assertWithinTime(
      fc.property(fc.oneof(anyText, scriptText), (text) => {
        const once = fold(text, accents);
        expect(fold(once, accents)).toBe(once);
      }),
    );
    // Each character is tested alone, and next to characters that compose with the character or change places. Of the
    // 98,000 Han characters that stay as they are in every form, `npm test` takes every seventeenth.
    const isOneOfMany = (character: string): boolean =>
      !IS_LONG &&
      /\p{Script=Han}/u.test(character) &&
      character.normalize('NFKD') === character &&
      character.codePointAt(0)! % 17 !== 0;
    for (const character of everyCharacter) {
      if (isOneOfMany(character)) continue;
      for (const text of [character, `\u03b1${character}\u0301`, `${character}\u0345\u0308\u0323`]) {
        const once = fold(text, accents);
        if (fold(once, accents) !== once) throw new Error(`not stable: ${[...text].map(hex).join(' ')}`);
      }
    }
  });

  it.each(['kept', 'dropped'] as const)(
    'folds composed and decomposed texts to the same text, accents %s',
    (accents) => {
      assertWithinTime(
        fc.property(scriptText, (text) => {
          expect(fold(text.normalize('NFD'), accents)).toBe(fold(text.normalize('NFC'), accents));
        }),
      );
    },
  );

  it('folds ASCII letters in the same way with and without letters of another script', () => {
    assertWithinTime(
      fc.property(fc.string({ unit: 'binary-ascii' }), (text) => {
        expect(fold(`${text}語`, 'dropped')).toBe(`${fold(text, 'dropped')}語`);
      }),
    );
  });

  it('keeps unpaired surrogates', () => {
    expect(fold('É\ud83d', 'kept')).toBe('é\ud83d');
    expect(fold('\udc00É', 'dropped')).toBe('\udc00e');
  });
});

describe('the segments of a text', () => {
  const clusters = new Intl.Segmenter('en', { granularity: 'grapheme' });
  const withoutControls = (text: string): string => text.replace(/[\p{Cc}\ufffd]/gu, '');
  const texts = fc.oneof(scriptText, anyText).map(withoutControls).filter(Boolean);
  const accents = fc.constantFrom<Profile['accents']>('kept', 'dropped');
  const kinds = fc.constantFrom(...MATCH_KINDS);

  function segmentsOf(text: string, query: string, kind: MatchKind, how: Profile['accents']) {
    return segments({ text, folded: fold(text, how) }, fold(query, how), kind, how);
  }

  /** The text with the matched part in brackets. */
  function shown(text: string, query: string, kind: MatchKind, how: Profile['accents'] = 'kept'): string {
    return segmentsOf(text, query, kind, how)
      .map((segment) => (segment.matched ? `[${segment.text}]` : segment.text))
      .join('');
  }

  describe('segments', () => {
    it.each<[string, string, MatchKind, string]>([
      ['Anna', 'anna', 'exact', '[Anna]'],
      ['Anna Ann', 'ann', 'prefix', '[Ann]a Ann'],
      ['Joann Anna Ann', 'ann', 'word-prefix', 'Joann [Ann]a Ann'],
      ['Ann Joann', 'ann', 'suffix', 'Ann Jo[ann]'],
      ['Ann Joann', 'n', 'contains', 'A[n]n Joann'],
      ['John Smith', 'jonh', 'typo', '[John] Smith'],
      ['Jonathan', 'jonnathan', 'typo', '[Jonathan]'],
      ['Fernando Alonso', 'fernadno a', 'typo', '[Fernando A]lonso'],
      ['Straße', 'STRASS', 'prefix', '[Straß]e'],
      ['Straße', 'sse', 'suffix', 'Stra[ße]'],
      ['eﬃcient', 'f', 'contains', 'e[ﬃ]cient'],
      ['Ｆｕｌｌ　Ｗｉｄｔｈ', 'wid', 'word-prefix', 'Ｆｕｌｌ　[Ｗｉｄ]ｔｈ'],
      ['東京タワー', 'ﾀﾜ', 'contains', '東京[タワ]ー'],
      ['ｶﾞﾗｽ', 'が', 'prefix', 'ｶﾞﾗｽ'],
      ['ｶﾞﾗｽ', 'ガ', 'prefix', '[ｶﾞ]ﾗｽ'],
      ['𝒳𝒴𐐀', '𐐨', 'suffix', '𝒳𝒴[𐐀]'],
      ['각나', '\u1102\u1161', 'suffix', '각[나]'],
      ['\u1100\u1161\u11a8나', '각', 'prefix', '[\u1100\u1161\u11a8]나'],
      ['ㄱㅏ나', '가', 'prefix', '[ㄱㅏ]나'],
      ['나ㄱㅏㅏ', '가', 'contains', '나[ㄱㅏ]ㅏ'],
      ['น้ำตก', 'ตก', 'suffix', 'น้ำ[ตก]'],
      ['กำ', 'ก', 'prefix', '[กำ]'],
      ['السلام عليكم', 'علي', 'word-prefix', 'السلام [علي]كم'],
      ['ﻻ إله', 'ل', 'prefix', '[ﻻ] إله'],
      ['Team 👩‍👩‍👧!', '👩', 'contains', 'Team [👩‍👩‍👧]!'],
      ['👍🏽 ok', '👍', 'prefix', '[👍🏽] ok'],
      ['🇩🇪🇫🇷', '🇫🇷', 'suffix', '🇩🇪[🇫🇷]'],
      ['e\u0323\u0301a', 'ẹ\u0301', 'prefix', '[e\u0323\u0301]a'],
    ])('of %s for the query %s (%s) are %s (chapter 10: any character)', (text, query, kind, expected) => {
      expect(shown(text, query, kind)).toBe(expected);
    });

    it('include the accents of a matched letter when accents are dropped', () => {
      expect(shown('Re\u0301sumé', 'resume', 'exact', 'dropped')).toBe('[Re\u0301sumé]');
      expect(shown('Re\u0301sumé', 'RÉ', 'prefix', 'dropped')).toBe('[Re\u0301]sumé');
      expect(shown('Việt Nam', 'vie', 'prefix', 'dropped')).toBe('[Việ]t Nam');
      expect(shown('Việt Nam', 'viet', 'prefix', 'kept')).toBe('Việt Nam');
      // A mark without a letter folds to nothing. A mark at the start of the text belongs to the match.
      expect(shown('\u0301語x', '語', 'prefix', 'dropped')).toBe('[\u0301語]x');
    });

    it('mark nothing as matched if only an alias matches, or if the query is empty', () => {
      for (const kind of MATCH_KINDS) {
        expect(segmentsOf('Germany', 'deutschland', kind, 'kept')).toEqual([
          { text: 'Germany', matched: false },
        ]);
        expect(segmentsOf('Germany', '', kind, 'kept')).toEqual([{ text: 'Germany', matched: false }]);
      }
      expect(shown('Germany', 'germ', 'exact')).toBe('Germany');
      expect(shown('Germany', 'many', 'prefix')).toBe('Germany');
      expect(shown('Germany', 'germ', 'word-prefix')).toBe('Germany');
      expect(shown('Germany', 'germ', 'suffix')).toBe('Germany');
    });

    it('join to the whole text, are not empty, alternate, and divide no grapheme cluster', () => {
      assertWithinTime(
        fc.property(texts, texts, kinds, accents, (text, query, kind, how) => {
          const parts = segmentsOf(text, query, kind, how);
          expect(parts.map((part) => part.text).join('')).toBe(text);
          expect(parts.every((part) => part.text !== '')).toBe(true);
          expect(parts.slice(1).every((part, n) => part.matched !== parts[n]!.matched)).toBe(true);
          const bounds = new Set(Array.from(clusters.segment(text), ({ index }) => index));
          let place = 0;
          for (const part of parts) {
            expect(bounds.has(place)).toBe(true);
            place += part.text.length;
          }
        }),
      );
    });

    it('mark the smallest range of grapheme clusters that contains the query', () => {
      let found = 0;
      assertWithinTime(
        fc.property(texts, fc.nat(), fc.nat(), accents, (text, a, b, how) => {
          // The query is any part of the folded text.
          const all = [...fold(text, how)];
          const [from, to] = [a % (all.length + 1), b % (all.length + 1)].sort((x, y) => x - y);
          const query = fold(all.slice(from, to).join(''), how);
          const kind = kindOf(packForms([fold(text, how)]), query, wantedKinds([], false));
          if (query === '' || kind === undefined) return;
          found += 1;
          const parts = segmentsOf(text, query, kind, how);
          const matched = parts.filter((part) => part.matched);
          expect(matched).toHaveLength(1);
          expect(fold(matched[0]!.text, how)).toContain(query);
          // Without its first and its last cluster, the matched part does not contain the query.
          const characters = Array.from(clusters.segment(matched[0]!.text), ({ segment }) => segment);
          const inner = characters.slice(1, -1).join('');
          if (kind !== 'exact') expect(fold(inner, how).includes(query) && characters.length > 2).toBe(false);
        }),
      );
      expect(found).toBeGreaterThan(0);
    });
  });

  test('never divides a grapheme cluster, and divides simple texts as the segmenter of the language does', () => {
    const clusters = new Intl.Segmenter('und', { granularity: 'grapheme' });
    const text = fc.oneof(
      fc.string({
        unit: fc.constantFrom('é', 'ß', 'Ω', 'й', '東', 'カ', '한', 'א', 'ع', 'ل', 'a', ' ', '’', 'ﬁ', 'İ'),
        maxLength: 12,
      }),
      fc.string({ unit: 'grapheme', maxLength: 12 }),
    );
    assertWithinTime(
      fc.property(text, fc.nat(11), fc.nat(11), (shown, from, length) => {
        const query = shown.slice(from, from + length);
        const ends = new Set([0]);
        for (const { index, segment } of clusters.segment(shown)) ends.add(index + segment.length);
        let end = 0;
        for (const part of segmentsOf(shown, query, 'contains', 'kept')) {
          end += part.text.length;
          expect(ends).toContain(end);
        }
      }),
    );
  });
});
