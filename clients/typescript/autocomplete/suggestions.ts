import {
  MatchKind as MatchKindCode,
  matchKindToJSON,
  type Suggestion as SuggestionMessage,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { invalidOption, textOfValue } from '../time-span';

const KINDS = ['EXACT', 'PREFIX', 'WORD_PREFIX', 'SUFFIX', 'CONTAINS', 'TYPO'] as const;

/** How a query matches a text, in the order of rank. A newer server may have other kinds. */
export type MatchKind = (typeof KINDS)[number];

export interface Suggestion {
  /** Empty for a recent without an entry. */
  readonly id: string;
  readonly text: string;
  /** The parts of the text in order. */
  readonly segments: readonly { readonly text: string; readonly matched: boolean }[];
  readonly payload: Uint8Array;
  readonly matchKind: MatchKind;
  /** Weight plus selections, below 2^53. */
  readonly score: number;
  readonly isRecent: boolean;
}

export function suggestionOf(message: SuggestionMessage): Suggestion {
  const { entryId, text, segments, payload, matchKind, score, recent } = message;
  const kind = matchKindToJSON(matchKind).replace('MATCH_KIND_', '') as MatchKind;
  return { id: entryId, text, segments, payload, matchKind: kind, score: Number(score), isRecent: recent };
}

/** Throws an InvalidRequestError for a kind that this version does not know. */
export function matchKindCodes(kinds: readonly MatchKind[] = []): MatchKindCode[] {
  if (!Array.isArray(kinds)) throw invalidOption('matchKinds', 'a list');
  return kinds.map(codeOf);
}

function codeOf(kind: MatchKind): MatchKindCode {
  if (KINDS.includes(kind)) return MatchKindCode[`MATCH_KIND_${kind}`];
  throw invalidOption('matchKinds', `a list of ${KINDS.join(', ')}, not of ${textOfValue(kind)}`);
}
