import {
  MatchKind as MatchKindCode,
  matchKindToJSON,
  type Suggestion as SuggestionMessage,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';

/** How a query matches a text, in the order of rank. A newer server may have other kinds. */
export type MatchKind = 'EXACT' | 'PREFIX' | 'WORD_PREFIX' | 'SUFFIX' | 'CONTAINS' | 'TYPO';

export interface Suggestion {
  /** Empty for a recent without an entry. */
  readonly id: string;
  readonly text: string;
  /** The parts of the text in order. */
  readonly segments: readonly { readonly text: string; readonly matched: boolean }[];
  readonly payload: Uint8Array;
  readonly matchKind: MatchKind;
  readonly score: bigint;
  readonly isRecent: boolean;
}

export function suggestionOf(message: SuggestionMessage): Suggestion {
  const { entryId, text, segments, payload, matchKind, score, recent } = message;
  const kind = matchKindToJSON(matchKind).replace('MATCH_KIND_', '') as MatchKind;
  return { id: entryId, text, segments, payload, matchKind: kind, score, isRecent: recent };
}

export function matchKindCodes(kinds: readonly MatchKind[] = []): MatchKindCode[] {
  return kinds.map((kind) => MatchKindCode[`MATCH_KIND_${kind}`]);
}
