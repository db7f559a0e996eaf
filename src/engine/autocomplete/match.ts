import { MATCH_KINDS, type MatchKind } from './suggestion';
import { isTypo } from './typo';

/**
 * How a text answers to a query, found by plain search for a substring, which the store's scripts and databases of
 * any kind can do fast. Texts and queries hold no control characters, so three of them are free to mark places.
 */

/** In front of each word but the first. */
const WORD = '\u0001';
const BEGIN = '\u0002';
const END = '\u0003';

const ASCII = /^[\0-\x7f]*$/;
const ASCII_WORD_STARTS = /[^a-z0-9\u0001](?=[a-z0-9])/g;
const WORD_STARTS = /(?<=[^\p{L}\p{N}\p{M}\u0001])(?=[\p{L}\p{N}])/gu;

/** What is searched for, by kind, in rank order. Whatever one of them finds, the last finds too. */
const PATTERNS: ReadonlyMap<MatchKind, (query: string) => string> = new Map([
  ['exact', (query) => BEGIN + query + END],
  ['prefix', (query) => BEGIN + query],
  ['word-prefix', (query) => WORD + query],
  ['suffix', (query) => query + END],
  ['contains', (query) => query],
]);

/** Those of which each text has the empty query. */
const KINDS_OF_EMPTY: readonly MatchKind[] = ['prefix', 'word-prefix', 'suffix', 'contains'];

/**
 * The folded text with U+0001 in front of each word start but one at the text's beginning: a letter or digit that
 * follows on none, and on no mark of one. Only these two neighbours decide, so a query marked by itself is found in
 * every marked text that has it. Marking again changes nothing.
 */
export function markWords(folded: string): string {
  if (ASCII.test(folded)) return folded.replace(ASCII_WORD_STARTS, `$&${WORD}`);
  return folded.replace(WORD_STARTS, WORD);
}

/** Where the first word but that at the beginning stands which begins with the query (both folded); -1: nowhere. */
export function wordPrefixAt(folded: string, query: string): number {
  const marked = markWords(folded);
  const index = marked.indexOf(WORD + markWords(query));
  return index < 0 ? -1 : unmarkWords(marked.slice(0, index)).length;
}

function unmarkWords(marked: string): string {
  return marked.replaceAll(WORD, '');
}

/**
 * An entry's folded texts, its own first and then its aliases, packed for `kindOf` and for the store: each is marked
 * and stands between U+0002 and U+0003. Duplicates and empty ones are left out.
 */
export function forms(texts: readonly string[]): string {
  const marked = new Set(texts.filter((text) => text !== '').map(markWords));
  return [...marked].map((text) => BEGIN + text + END).join('');
}

/** The kinds that a caller asked for, with all of them for none; without typos where there shall be none. */
export function wantedKinds(asked: readonly MatchKind[], typos: boolean): ReadonlySet<MatchKind> {
  const kinds = asked.length === 0 ? MATCH_KINDS : asked;
  return new Set(kinds.filter((kind) => typos || kind !== 'typo'));
}

/**
 * The best of the wanted kinds by which one of the packed forms matches the folded query; undefined if none does. A
 * typo is only what matches in no other way, also not in one that is not wanted.
 */
export function kindOf(packed: string, query: string, wanted: ReadonlySet<MatchKind>): MatchKind | undefined {
  if (query === '') return KINDS_OF_EMPTY.find((kind) => wanted.has(kind));
  const marked = markWords(query);
  if (!packed.includes(marked)) return wanted.has('typo') && hasTypo(packed, query) ? 'typo' : undefined;
  for (const [kind, pattern] of PATTERNS) {
    if (wanted.has(kind) && packed.includes(pattern(marked))) return kind;
  }
  return undefined;
}

function hasTypo(packed: string, query: string): boolean {
  const typed = unmarkWords(query);
  return unmarkWords(packed)
    .slice(BEGIN.length, -END.length)
    .split(END + BEGIN)
    .some((text) => isTypo(typed, text));
}
