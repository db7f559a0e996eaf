import fc from 'fast-check';
import { foldCase } from '../../../src/engine/autocomplete/case-folding';
import { fold } from '../../../src/engine/autocomplete/fold';
import { anyText, scriptText } from '../../support/scripts-of-the-world';

/** Of Unicode 17: what a newer one assigns is not in our table, and this Node may fold it. */
const KNOWN_TO_TABLE = Number(process.versions.unicode) <= 17;

/** Every character there is, as far as this engine knows. */
const everyCharacter: readonly string[] = Array.from({ length: 0x110000 }, (_, codePoint) =>
  String.fromCodePoint(codePoint),
).filter((one) => !/[\p{Unassigned}\p{Private_Use}\p{Surrogate}]/u.test(one));

const lengthOf = (text: string): number => [...text].length;
const hex = (character: string): string => character.codePointAt(0)!.toString(16);

describe('case folding', () => {
  it('of one character to one is what this engine takes for the same letter', () => {
    const pairs = everyCharacter
      .filter((one) => foldCase(one) !== one && lengthOf(foldCase(one)) === 1)
      .map((one) => [one, foldCase(one)] as const);
    expect(pairs.length).toBeGreaterThan(1300);
    const strangers = pairs.filter(([from, to]) => !new RegExp(`^${to}$`, 'iu').test(from));
    expect(strangers.map(([from]) => hex(from))).toEqual([]);
    // What is folded is the end of the way, and never the small letter in one place and the capital in another.
    expect(pairs.filter(([, to]) => foldCase(to) !== to)).toEqual([]);
  });

  it('of one character to several is its capital form in small letters', () => {
    const expected = new Map(
      everyCharacter
        .map((one) => [one, one.toUpperCase().toLowerCase()] as const)
        .filter(([one, small]) => lengthOf(small) > 1 && one !== 'İ'),
    );
    // Two whose capital form is themselves.
    expected.set('ẞ', 'ss').set('İ', 'i\u0307');
    const found = everyCharacter.filter((one) => lengthOf(foldCase(one)) > 1);
    expect(found).toHaveLength(104);
    expect(new Map(found.map((one) => [one, foldCase(one)]))).toEqual(expected);
  });

  (KNOWN_TO_TABLE ? it : it.skip)('leaves out no character that this engine folds', () => {
    const wrong = everyCharacter.filter((one) => {
      const decomposed = one.normalize('NFD');
      const changes = foldCase(decomposed) !== decomposed;
      return changes !== /\p{Changes_When_Casefolded}/u.test(one);
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
  ])('makes %s to %s', (text, folded) => {
    expect(foldCase(text)).toBe(folded);
  });
});

describe('folding', () => {
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
  ])('makes %s and %s one (chapter 10: any character)', (one, other) => {
    expect(fold(one, 'kept')).toBe(fold(other, 'kept'));
  });

  it('keeps accents apart, or drops them, as the dictionary says', () => {
    expect(fold('Résumé', 'kept')).toBe('résumé');
    expect(fold('Re\u0301sume\u0301', 'kept')).toBe('résumé');
    expect(fold('Résumé', 'dropped')).toBe('resume');
    expect(fold('Tiếng Việt', 'dropped')).toBe('tieng viet');
    expect(fold('İSTANBUL', 'dropped')).toBe('istanbul');
    expect(fold('ΆΪΆΪ', 'dropped')).toBe('αιαι');
  });

  it('leaves the marks that are parts of letters in place when accents are dropped', () => {
    for (const text of ['กำลังใจ', 'हिन्दी', 'ガラス', '한국어', 'مُحَمَّد']) {
      expect(fold(text, 'dropped')).toBe(fold(text, 'kept'));
    }
  });

  it('leaves white space as it is', () => {
    expect(fold('  A  b ', 'kept')).toBe('  a  b ');
  });

  it('may leave nothing of a text of accents only', () => {
    expect(fold('\u0301', 'kept')).toBe('\u0301');
    expect(fold('\u0301\u20dd', 'dropped')).toBe('');
  });

  it.each(['kept', 'dropped'] as const)('twice is the same as once, accents %s', (accents) => {
    fc.assert(
      fc.property(fc.oneof(anyText, scriptText), (text) => {
        const once = fold(text, accents);
        expect(fold(once, accents)).toBe(once);
      }),
      { numRuns: 5000 },
    );
    // Each character by itself, and before and after what composes and what is reordered.
    for (const one of everyCharacter) {
      for (const text of [one, `\u03b1${one}\u0301`, `${one}\u0345\u0308\u0323`]) {
        const once = fold(text, accents);
        if (fold(once, accents) !== once) throw new Error(`not stable: ${[...text].map(hex).join(' ')}`);
      }
    }
  });

  it.each(['kept', 'dropped'] as const)('makes composed and decomposed texts one, accents %s', (accents) => {
    fc.assert(
      fc.property(scriptText, (text) => {
        expect(fold(text.normalize('NFD'), accents)).toBe(fold(text.normalize('NFC'), accents));
      }),
      { numRuns: 2000 },
    );
  });

  it('gives plain ASCII the same form alone as beside other scripts', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii' }), (text) => {
        expect(fold(`${text}語`, 'dropped')).toBe(`${fold(text, 'dropped')}語`);
      }),
    );
  });

  it('survives half a character', () => {
    expect(fold('É\ud83d', 'kept')).toBe('é\ud83d');
    expect(fold('\udc00É', 'dropped')).toBe('\udc00e');
  });
});
