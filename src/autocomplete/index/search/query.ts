import { MATCH_KINDS, type MatchKind } from '../../suggestion';
import { allowedEdits } from '../../text/match';
import { isWordStart } from '../build/characters';
import type { EntryTable } from '../layer/layer';

/** A kind of match by its index in MATCH_KINDS. A lower number is a better kind. */
export type KindNumber = number;

export const PREFIX: KindNumber = MATCH_KINDS.indexOf('prefix');
export const EXACT: KindNumber = MATCH_KINDS.indexOf('exact');
export const SUFFIX: KindNumber = MATCH_KINDS.indexOf('suffix');
export const TYPO: KindNumber = MATCH_KINDS.indexOf('typo');
/** A form contains the query, but matches by no wanted kind. */
export const UNWANTED: KindNumber = MATCH_KINDS.length;
/** No form contains the query. */
export const ABSENT: KindNumber = MATCH_KINDS.length + 1;

/** The places of a query in a form. Add `AND_AT_END` if the form ends with the query there. */
export const AT_BEGINNING = 0;
/** The start of a word that is not at the beginning of the form. */
export const AT_WORD_START = 2;
export const AT_OTHER_CHARACTER = 4;
export const AND_AT_END = 1;

/** The kinds of a match at each place. */
const KINDS_BY_PLACE: readonly (readonly MatchKind[])[] = [
  ['prefix', 'contains'],
  ['exact', 'prefix', 'suffix', 'contains'],
  ['word-prefix', 'contains'],
  ['word-prefix', 'suffix', 'contains'],
  ['contains'],
  ['suffix', 'contains'],
];

/** Every entry matches the empty query by these kinds. */
const KINDS_OF_EMPTY: readonly MatchKind[] = ['prefix', 'word-prefix', 'suffix', 'contains'];

/** A folded query. It has no control characters. */
export interface Query {
  /** UTF-8. */
  readonly bytes: Buffer;
  readonly codePoints: readonly number[];
  /** The largest number of typos; 0 if typos are not wanted or the query is too short. */
  readonly maxEdits: number;
  /** The kinds by which an entry can match, the best kind first. */
  readonly kinds: readonly KindNumber[];
  /** The best wanted kind at each place, or UNWANTED. */
  readonly kindByPlace: readonly KindNumber[];
}

/** `wanted`: as `wantedKinds` of match.ts returns them. */
export function queryOf(folded: string, wanted: ReadonlySet<MatchKind>): Query {
  const codePoints = Array.from(folded, (character) => character.codePointAt(0) as number);
  const maxEdits = wanted.has('typo') ? allowedEdits(codePoints.length) : 0;
  const kindByPlace = KINDS_BY_PLACE.map((kinds) => numberOf(kinds.find((kind) => wanted.has(kind))));
  return {
    bytes: Buffer.from(folded),
    codePoints,
    maxEdits,
    kinds: kindsOf(folded, wanted, maxEdits),
    kindByPlace,
  };
}

function kindsOf(folded: string, wanted: ReadonlySet<MatchKind>, maxEdits: number): readonly KindNumber[] {
  if (folded === '') {
    const first = KINDS_OF_EMPTY.find((kind) => wanted.has(kind));
    return first === undefined ? [] : [numberOf(first)];
  }
  return MATCH_KINDS.filter((kind) => wanted.has(kind) && (kind !== 'typo' || maxEdits > 0)).map(numberOf);
}

export function numberOf(kind: MatchKind | undefined): KindNumber {
  return kind === undefined ? UNWANTED : MATCH_KINDS.indexOf(kind);
}

/**
 * The best wanted kind by which an entry contains the query, over all its forms: the same as `kindOf` of match.ts, except
 * for typos. UNWANTED: the entry contains the query, but matches by no wanted kind. ABSENT: the entry does not contain
 * the query. The query must not be empty.
 */
export function kindOfEntry({ forms, formsAt }: EntryTable, rank: number, query: Query): KindNumber {
  const { bytes, kindByPlace } = query;
  const firstByte = bytes[0];
  const end = formsAt[rank + 1] as number;
  let beginning = formsAt[rank] as number;
  let best = ABSENT;
  for (let at = beginning; at < end; at += 1) {
    const byte = forms[at];
    if (byte === 0) beginning = at + 1;
    else if (byte === firstByte && startsWith(forms, at, bytes)) {
      const kind = kindByPlace[placeOf(forms, at, beginning, bytes.length)] as KindNumber;
      if (kind < best) best = kind;
      // No later place is better.
      if (best === query.kinds[0]) return best;
    }
  }
  return best;
}

/** The place of a query that starts at `at` in the form that starts at `beginning`. */
function placeOf(forms: Uint8Array, at: number, beginning: number, queryLength: number): number {
  const andAtEnd = forms[at + queryLength] === 0 ? AND_AT_END : 0;
  if (at === beginning) return AT_BEGINNING + andAtEnd;
  return (isWordStart(forms, at) ? AT_WORD_START : AT_OTHER_CHARACTER) + andAtEnd;
}

/** True if these bytes are at this position. The bytes contain no zero byte, so they are within one form. */
export function startsWith(forms: Uint8Array, at: number, bytes: Uint8Array): boolean {
  for (let index = 0; index < bytes.length; index += 1) {
    if (forms[at + index] !== bytes[index]) return false;
  }
  return true;
}
