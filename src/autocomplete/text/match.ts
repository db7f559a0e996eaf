import { MATCH_KINDS, type MatchKind } from '../suggestion';

/** The prefix of a text that matches a query with typos. */
export interface TypoMatch {
  /** Edits between the query and the prefix. */
  readonly distance: number;
  /** Length of the prefix in UTF-16 units. */
  readonly end: number;
}

/**
 * The largest edit distance for a query of this length. Short queries allow no edits, because a short query with edits
 * matches nearly every text. An edit inserts, deletes or replaces a character, or swaps two neighbours.
 */
export function allowedEdits(length: number): number {
  if (length < 4) return 0;
  return length < 8 ? 1 : 2;
}

/**
 * Whether the text begins with the query or with a typo of the query: edit distance 1 for 4 to 7 code points, 2 from
 * 8 on. The first character must be equal. Both texts are folded.
 */
export function isTypo(query: string, text: string): boolean {
  return typoMatch(query, text) !== undefined;
}

/**
 * The prefix of the text with the smallest distance to the query (optimal string alignment distance). If several
 * prefixes have this distance, the prefix closest to the query's length wins (`John` for `jonh`, not `Joh`), then the
 * longer prefix. Undefined if no prefix is close enough. The time is linear in the query's length, because only the
 * matrix cells within the allowed distance are computed.
 */
export function typoMatch(query: string, text: string): TypoMatch | undefined {
  // Most texts of a dictionary fail this cheap check.
  if (query.codePointAt(0) !== text.codePointAt(0)) return undefined;
  const typed = codePoints(query, query.length);
  const maxDistance = allowedEdits(typed.length);
  if (maxDistance === 0) return undefined;
  const characters = codePoints(text, typed.length + maxDistance);
  if (characters.length < typed.length - maxDistance) return undefined;
  return bestMatch(lastRow(typed, characters, maxDistance), typed.length, characters, maxDistance);
}

/**
 * The last row of the matrix. Cell k is the distance of the whole query to the first `typed.length - maxDistance + k`
 * characters. A value above `maxDistance` is not exact.
 */
function lastRow(
  typed: readonly number[],
  characters: readonly number[],
  maxDistance: number,
): readonly number[] {
  const width = 2 * maxDistance + 1;
  const tooFar = maxDistance + 1;
  // Each row has one extra cell, so that the last cell of the band has a right neighbour.
  let twoRowsBack = new Array<number>(width + 1).fill(tooFar);
  let rowBefore = twoRowsBack.map((_, k) => (k < maxDistance ? tooFar : k - maxDistance));
  let current = twoRowsBack.slice();
  for (let row = 1; row <= typed.length; row += 1) {
    let nearest = tooFar;
    let left = tooFar;
    for (let k = 0; k < width; k += 1) {
      const column = row - maxDistance + k;
      let distance = tooFar;
      if (column >= 0 && column <= characters.length) {
        const diagonal =
          (rowBefore[k] ?? tooFar) + (column > 0 && typed[row - 1] === characters[column - 1] ? 0 : 1);
        distance = Math.min(diagonal, (rowBefore[k + 1] ?? tooFar) + 1, left + 1, tooFar);
        if (isSwap(typed, row, characters, column))
          distance = Math.min(distance, (twoRowsBack[k] ?? tooFar) + 1);
      }
      current[k] = left = distance;
      if (distance < nearest) nearest = distance;
    }
    current[width] = tooFar;
    // No later row can be near enough. A swap skips a row, but then a cell of the skipped row is near enough too.
    if (nearest > maxDistance) return current;
    [twoRowsBack, rowBefore, current] = [rowBefore, current, twoRowsBack];
  }
  return rowBefore;
}

function isSwap(
  typed: readonly number[],
  row: number,
  characters: readonly number[],
  column: number,
): boolean {
  return (
    row > 1 &&
    column > 1 &&
    typed[row - 1] === characters[column - 2] &&
    typed[row - 2] === characters[column - 1]
  );
}

function bestMatch(
  distances: readonly number[],
  typedLength: number,
  characters: readonly number[],
  maxDistance: number,
): TypoMatch | undefined {
  const distance = Math.min(...distances);
  if (distance > maxDistance) return undefined;
  const lengthDifferences = distances.flatMap((cell, k) => (cell === distance ? [k - maxDistance] : []));
  const difference = lengthDifferences.reduce((best, candidate) =>
    Math.abs(candidate) <= Math.abs(best) ? candidate : best,
  );
  const length = typedLength + difference;
  return { distance, end: String.fromCodePoint(...characters.slice(0, length)).length };
}

/** The first `limit` code points of the text. */
function codePoints(text: string, limit: number): readonly number[] {
  const characters: number[] = [];
  for (let index = 0; index < text.length && characters.length < limit;) {
    const codePoint = text.codePointAt(index) ?? 0;
    characters.push(codePoint);
    index += codePoint > 0xffff ? 2 : 1;
  }
  return characters;
}

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
