import fc from 'fast-check';

/**
 * Pieces of text that test the folding of many scripts: characters outside the basic plane, grapheme clusters of
 * several code points, letters that fold to several letters, that compose, or that fold by their context.
 */
const PIECES = [
  ...['a', 'b', 'e', 's', 'A', 'S', 'I', '1', ' ', '-', '.', ' '],
  ...[
    'ß',
    'ẞ',
    'İ',
    'ı',
    'é',
    'e\u0301',
    'Å',
    '\u212b',
    'ǆ',
    'ǅ',
    'ﬁ',
    'ﬃ',
    'ŉ',
    'ǰ',
    'ẖ',
    'ễ',
    'ſ',
    'ẛ\u0323',
  ],
  ...['Σ', 'ς', 'ᾳ', 'ᾈ', 'ΐ', 'ᾷ', 'Ϊ', '\u0345', 'α', 'ι', 'ί', 'Ж', 'ё', 'և', 'Ꭰ', 'ꭰ', 'Ა', '𐐀', '𞤢'],
  ...['\u0301', '\u0308', '\u0323', '\u034f', '\u3099', '\u20e3', '\ufe0f', '\u200d', '\u0650', '\u05b0'],
  ...['가', '각', '\u1100', '\u1161', '\u11a8', 'ㄱ', 'ㅏ', 'ﾡ', 'ￂ', '한글'],
  ...['か', 'が', 'ｶﾞ', 'ﾊﾟ', 'Ａ', 'ｂ', '　', '㌔', '漢字', '𠮷', '葛\u{e0100}'],
  ...['กำ', 'ที่', 'น้ำ', 'หมา', 'हि', 'क्ष', 'ন্ত', 'ко\u0301', 'مُحَمَّد', 'لا', 'ﻻ', 'ﷺ', 'שָׁלוֹם'],
  ...['👩‍👩‍👧', '👍🏽', '🇩🇪', '🇫🇷🇪', '1️⃣', '❤️', '①', 'Ⅷ', '½', '…', '´', '𝔘', '𝒳'],
];

export const scriptText = fc.string({ unit: fc.constantFrom(...PIECES), maxLength: 12 });

/** Random texts of all code points, mostly of rare code points. */
export const anyText = fc.string({ unit: 'binary', maxLength: 12 });
