import fc, { type Arbitrary } from 'fast-check';
import {
  type Entry,
  MATCH_KINDS,
  type MatchKind,
  type Profile,
  type Recent,
} from '../../../src/autocomplete/suggestion';
import { seeded as fractions } from '../random';
import { anyCharacter } from '../timed-property';

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
export const anyText = fc.string({ unit: anyCharacter, maxLength: 12 });

/** Returns a function for random integers from 0 to below its argument. The same seed gives the same numbers. */
export function seeded(seed: number): (below: number) => number {
  const random = fractions(seed);
  return (below) => Math.floor(random() * below);
}

const BEGINNINGS = [
  'an',
  'ber',
  'ca',
  'do',
  'el',
  'fri',
  'go',
  'hen',
  'is',
  'jo',
  'ka',
  'lu',
  'ma',
  'mar',
  'no',
];
const MIDDLES = ['na', 'ri', 'tho', 'le', 'mi', 'ra', 'sé', 'ti', 'vo', 'ne', 'ko', 'lla', 'ssi', 'dè', 'be'];
const ENDS = ['a', 'n', 'us', 'e', 'son', 'tt', 'ri', 'x', 'y', 'ler', 'mann', 'o', 'ez', 'ovà', 's'];

/** Names of people, with two or three words. The first syllables of each list are much more frequent. */
export function nameGenerator(random: (below: number) => number): () => string {
  const one = (list: readonly string[]) => list[Math.min(random(list.length), random(list.length))] ?? '';
  const word = () => {
    let text = one(BEGINNINGS);
    for (let left = random(3); left > 0; left -= 1) text += one(MIDDLES);
    text += one(ENDS);
    return text[0]?.toUpperCase() + text.slice(1);
  };
  return () => Array.from({ length: 2 + (random(5) === 0 ? 1 : 0) }, word).join(random(12) === 0 ? '-' : ' ');
}

/** The text with this number of random edits. The first character is never edited. */
export function withTypos(text: string, times: number, random: (below: number) => number): string {
  const characters = [...text];
  const other = () => String.fromCharCode(97 + random(26));
  for (let time = 0; time < times; time += 1) {
    const at = 1 + random(Math.max(1, characters.length - 1));
    const kind = random(4);
    if (kind === 0) characters.splice(at, 0, other());
    else if (kind === 1) characters.splice(at, 1);
    else if (kind === 2) characters.splice(at, 1, other());
    else characters.splice(at, 2, ...characters.slice(at, at + 2).reverse());
  }
  return characters.join('');
}

/** The characters of random dictionaries. Each script has few characters, so that many texts match. */
const SCRIPTS: Readonly<Record<string, readonly string[]>> = {
  latin: ['a', 'b', 'A', 'á', 'a\u0301', ' ', '-', 'ß'],
  two: ['a', 'b'],
  words: ['a', 'b', ' ', '1'],
  cyrillic: ['а', 'и', 'й', 'И\u0306', ' '],
  greek: ['σ', 'ς', 'Σ', 'ά', ' '],
  cjk: ['東', '京', 'ト', 'ﾄ', '一'],
  hangul: ['ᄒ', 'ᅡ', 'ᆫ', '한', '가'],
  arabic: ['ا', 'ل', 'ﻻ', '\u064b', ' '],
  emoji: ['😀', '😁', '👍🏽', 'a', '\u{1f468}\u200d\u{1f469}'],
  mixed: ['a', 'é', 'и', '東', '😀', ' ', '\u0301', 'ﬁ', '\u{10ffff}'],
};

export const scripts = Object.keys(SCRIPTS);

export function textOf(script: string, minLength: number, maxLength: number): Arbitrary<string> {
  const characters = fc.constantFrom(...(SCRIPTS[script] ?? []));
  return fc.array(characters, { minLength, maxLength }).map((found) => found.join(''));
}

/** Few ids of different lengths. Some ids are the beginning of other ids. */
export const entryIdOf = fc.constantFrom('1', '10', '2', 'é', 'e\u0301', '😀', 'id 7', 'id 8');

export function entryOf(script: string): Arbitrary<Entry> {
  return fc.record({
    entryId: entryIdOf,
    text: fc.oneof({ weight: 4, arbitrary: textOf(script, 1, 6) }, textOf(script, 4, 14)),
    aliases: fc.array(textOf(script, 1, 8), { maxLength: 2, size: 'small' }),
    weight: fc.constantFrom(0, 0, 0, 1, 255, 256, 65_536, 2 ** 40 + 1, 2 ** 52),
    payload: fc.uint8Array({ maxLength: 3 }),
  });
}

export const kindsOf: Arbitrary<MatchKind[]> = fc.oneof(
  { weight: 2, arbitrary: fc.constant<MatchKind[]>([]) },
  fc.shuffledSubarray([...MATCH_KINDS], { minLength: 1 }),
);

export function recentOf(script: string): Arbitrary<Recent> {
  return fc.record({
    entryId: fc.oneof(fc.constant(''), entryIdOf),
    text: textOf(script, 1, 6),
    payload: fc.uint8Array({ maxLength: 2 }),
  });
}

export const profileOf: Arbitrary<Profile> = fc.record({
  accents: fc.constantFrom('kept', 'dropped'),
  typos: fc.boolean(),
});

/** The servers that answer a query: one server, both at the same time, or both in turn from page to page. */
export type Askers = 'one' | 'other' | 'both' | 'in turn';

export type Deed =
  | { readonly do: 'put'; readonly entries: readonly Entry[] }
  | { readonly do: 'delete'; readonly ids: readonly string[] }
  | { readonly do: 'select'; readonly id: string; readonly count: number }
  | { readonly do: 'begin' | 'commit' | 'abandon' | 'miscount'; readonly slot: number }
  | { readonly do: 'batch'; readonly slot: number; readonly entries: readonly Entry[] }
  | { readonly do: 'recent'; readonly recent: Recent }
  /** The server frees its index. */
  | { readonly do: 'forget' }
  | {
      readonly do: 'list';
      readonly from: string;
      readonly to: string;
      readonly pageSize: number;
      readonly askers: Askers;
    }
  | {
      readonly do: 'suggest';
      readonly query: string;
      readonly kinds: readonly MatchKind[];
      readonly pageSize: number;
      readonly recents: boolean;
      readonly askers: Askers;
    };

/** A deed of one of two servers. */
export type Step = Deed & { readonly server: 0 | 1 };

export function stepOf(script: string): Arbitrary<Step> {
  return fc
    .tuple(deedOf(script), fc.constantFrom(0 as const, 1 as const))
    .map(([deed, server]) => ({ ...deed, server }));
}

function deedOf(script: string): Arbitrary<Deed> {
  const slot = fc.nat(1);
  const pageSize = fc.integer({ min: 1, max: 7 });
  const entries = fc.array(entryOf(script), { minLength: 1, maxLength: 5 });
  const ids = fc.array(entryIdOf, { minLength: 1, maxLength: 3 });
  const bound = fc.oneof(fc.constant(''), textOf(script, 1, 3));
  const askers = fc.constantFrom<Askers[]>('one', 'other', 'both', 'in turn');
  const weighted: readonly (readonly [number, Arbitrary<Deed>])[] = [
    [8, fc.record({ do: fc.constant('put'), entries })],
    [3, fc.record({ do: fc.constant('delete'), ids })],
    [
      3,
      fc.record({
        do: fc.constant('select'),
        id: entryIdOf,
        count: fc.constantFrom(1, 300, 1_000_000),
      }),
    ],
    [3, fc.record({ do: fc.constantFrom('begin', 'commit', 'abandon', 'miscount'), slot })],
    [2, fc.record({ do: fc.constant('batch'), slot, entries })],
    [2, fc.record({ do: fc.constant('recent'), recent: recentOf(script) })],
    [1, fc.constant({ do: 'forget' })],
    [2, fc.record({ do: fc.constant('list'), from: bound, to: bound, pageSize, askers })],
    [
      12,
      fc.record({
        do: fc.constant('suggest'),
        query: fc.oneof(textOf(script, 0, 4), textOf(script, 4, 10)),
        kinds: kindsOf,
        pageSize,
        recents: fc.boolean(),
        askers,
      }),
    ],
  ];
  return fc.oneof(...weighted.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}
