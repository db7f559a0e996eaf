import { isWordStart } from '../build/character-classes';
import type { EntryTable } from '../layer/layer';
import {
  ABSENT,
  AND_AT_END,
  AT_BEGINNING,
  AT_OTHER_CHARACTER,
  AT_WORD_START,
  type KindNumber,
  type Query,
} from './query';

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
