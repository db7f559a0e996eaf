import fc, { type Arbitrary } from 'fast-check';
import {
  type Entry,
  MATCH_KINDS,
  type MatchKind,
  type Profile,
  type Recent,
} from '../../src/autocomplete/suggestion';

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
