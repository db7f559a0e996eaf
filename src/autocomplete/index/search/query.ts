import { MATCH_KINDS, type MatchKind } from '../../suggestion';
import { allowedEdits } from '../../text/typo';

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
