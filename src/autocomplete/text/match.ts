import { MATCH_KINDS, type MatchKind } from '../suggestion';
import { isTypo } from './typo';

/**
 * Finds how a text matches a query. The method is substring search. Texts and queries contain no control characters, so
 * three control characters can mark positions.
 */

/** Marks the start of each word, except a word at the text's beginning. */
const WORD = '\u0001';
const BEGIN = '\u0002';
const END = '\u0003';

const ASCII = /^[\0-\x7f]*$/;
const ASCII_WORD_STARTS = /[^a-z0-9\u0001](?=[a-z0-9])/g;
const WORD_STARTS = /(?<=[^\p{L}\p{N}\p{M}\u0001])(?=[\p{L}\p{N}])/gu;

/** The substring that proves each kind, in rank order. Each of these substrings contains the query itself. */
const PATTERNS: ReadonlyMap<MatchKind, (query: string) => string> = new Map([
  ['exact', (query) => BEGIN + query + END],
  ['prefix', (query) => BEGIN + query],
  ['word-prefix', (query) => WORD + query],
  ['suffix', (query) => query + END],
  ['contains', (query) => query],
]);

/** The kinds by which every text matches the empty query. */
const KINDS_OF_EMPTY: readonly MatchKind[] = ['prefix', 'word-prefix', 'suffix', 'contains'];

/**
 * Puts U+0001 in front of each word start except at the text's beginning. A word starts with a letter or digit that
 * follows no letter, digit or mark. Only these two neighbours decide, so a marked query is a substring of every
 * marked text that contains the query. Marking a marked text changes nothing.
 */
export function markWords(folded: string): string {
  if (ASCII.test(folded)) return folded.replace(ASCII_WORD_STARTS, `$&${WORD}`);
  return folded.replace(WORD_STARTS, WORD);
}

/** Index of the first word that starts with the query and is not at the text's beginning; -1: none. Both texts are folded. */
export function wordPrefixAt(folded: string, query: string): number {
  const marked = markWords(folded);
  const index = marked.indexOf(WORD + markWords(query));
  return index < 0 ? -1 : unmarkWords(marked.slice(0, index)).length;
}

function unmarkWords(marked: string): string {
  return marked.replaceAll(WORD, '');
}

/**
 * Packs an entry's folded text and aliases for `kindOf`. Each form is marked and stands between
 * U+0002 and U+0003. Duplicates and empty forms are left out.
 */
export function packForms(texts: readonly string[]): string {
  const marked = new Set(texts.filter((text) => text !== '').map(markWords));
  return [...marked].map((text) => BEGIN + text + END).join('');
}

/** The kinds to search: the requested kinds, or all if the request names none; without 'typo' if typos are off. */
export function wantedKinds(requested: readonly MatchKind[], typos: boolean): ReadonlySet<MatchKind> {
  const kinds = requested.length === 0 ? MATCH_KINDS : requested;
  return new Set(kinds.filter((kind) => typos || kind !== 'typo'));
}

/**
 * The best wanted kind by which a packed form matches the folded query; undefined if no form matches. If a form
 * contains the query, no form counts as a typo, even if the kind of the match is not wanted.
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
