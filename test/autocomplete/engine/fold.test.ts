import fc from 'fast-check';
import { fold, foldCase, withoutMarks } from '../../../src/autocomplete/text/fold';
import { anyText, scriptText } from '../../support/autocomplete/dictionary-texts';

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
    fc.assert(
      fc.property(fc.oneof(anyText, scriptText), (text) => {
        const once = fold(text, accents);
        expect(fold(once, accents)).toBe(once);
      }),
      { numRuns: 5000 },
    );
    // Each character is tested alone, and next to characters that compose with the character or change places.
    for (const character of everyCharacter) {
      for (const text of [character, `\u03b1${character}\u0301`, `${character}\u0345\u0308\u0323`]) {
        const once = fold(text, accents);
        if (fold(once, accents) !== once) throw new Error(`not stable: ${[...text].map(hex).join(' ')}`);
      }
    }
  });

  it.each(['kept', 'dropped'] as const)(
    'folds composed and decomposed texts to the same text, accents %s',
    (accents) => {
      fc.assert(
        fc.property(scriptText, (text) => {
          expect(fold(text.normalize('NFD'), accents)).toBe(fold(text.normalize('NFC'), accents));
        }),
        { numRuns: 2000 },
      );
    },
  );

  it('folds ASCII letters in the same way with and without letters of another script', () => {
    fc.assert(
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
