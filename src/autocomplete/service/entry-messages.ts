import * as proto from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { ErrorReason } from '../../../generated/typescript/holdfast/v1/error_reason';
import { FOLD_VERSIONS } from '../text/fold';
import type {
  DictionaryView,
  ListedEntry,
  LoadState,
  MatchKind,
  Profile,
  Suggestion,
  SuggestPage,
} from '../suggestion';
import { msToTimestamp } from '../../rpc/wire';
import type { ErrorSummary } from '../../rpc/call-errors';

/** Translates the autocomplete engine's values into messages of the contract. */

const KINDS: Readonly<Record<MatchKind, proto.MatchKind>> = {
  exact: proto.MatchKind.MATCH_KIND_EXACT,
  prefix: proto.MatchKind.MATCH_KIND_PREFIX,
  'word-prefix': proto.MatchKind.MATCH_KIND_WORD_PREFIX,
  suffix: proto.MatchKind.MATCH_KIND_SUFFIX,
  contains: proto.MatchKind.MATCH_KIND_CONTAINS,
  typo: proto.MatchKind.MATCH_KIND_TYPO,
};

const LOAD_STATES: Readonly<Record<LoadState, proto.LoadState>> = {
  'not-loaded': proto.LoadState.LOAD_STATE_NOT_LOADED,
  loading: proto.LoadState.LOAD_STATE_LOADING,
  ready: proto.LoadState.LOAD_STATE_READY,
  failed: proto.LoadState.LOAD_STATE_FAILED,
};

const KINDS_OF_MESSAGES = new Map(
  (Object.keys(KINDS) as MatchKind[]).map((kind) => [KINDS[kind], kind] as const),
);

/** Returns undefined for a value that a request must not contain. */
export function kindOfMessage(message: proto.MatchKind): MatchKind | undefined {
  return KINDS_OF_MESSAGES.get(message);
}

export function suggestionMessage(suggestion: Suggestion): proto.Suggestion {
  return {
    entryId: suggestion.entryId,
    text: suggestion.text,
    segments: [...suggestion.segments],
    payload: bytesMessage(suggestion.payload),
    matchKind: KINDS[suggestion.kind],
    score: BigInt(suggestion.score),
    recent: suggestion.recent,
  };
}

export function suggestMessage(page: SuggestPage): proto.SuggestResponse {
  return {
    suggestions: page.suggestions.map(suggestionMessage),
    nextPageToken: page.nextPageToken,
    partial: false,
  };
}

export function listedEntryMessage(listed: ListedEntry): proto.ListedEntry {
  const { entryId, text, aliases, weight, payload } = listed;
  return {
    entry: { entryId, text, aliases: [...aliases], weight: BigInt(weight), payload: bytesMessage(payload) },
    selectionCount: BigInt(listed.selectionCount),
  };
}

export function dictionaryMessage(view: DictionaryView): proto.Dictionary {
  return {
    name: view.name,
    profile: profileMessage(view.profile),
    foldVersion: FOLD_VERSIONS[view.profile.accents],
    entryCount: BigInt(view.entryCount),
    // The store's estimate may have a fraction.
    memoryBytes: BigInt(Math.round(view.memoryBytes)),
    generation: BigInt(view.generation),
    imports: view.imports.map(({ startTimeMs, receivedCount }) => ({
      startTime: msToTimestamp(startTimeMs),
      receivedCount: BigInt(receivedCount),
    })),
    serverMemoryBytes: BigInt(Math.round(view.index.memoryBytes)),
    feedBytes: BigInt(Math.round(view.feedBytes)),
    loadState: LOAD_STATES[view.index.loadState],
  };
}

function profileMessage({ accents, typos }: Profile): proto.Profile {
  const { ACCENT_HANDLING_KEPT: kept, ACCENT_HANDLING_DROPPED: dropped } = proto.AccentHandling;
  const { TYPO_MATCHING_ON: on, TYPO_MATCHING_OFF: off } = proto.TypoMatching;
  return { accents: accents === 'kept' ? kept : dropped, typoMatching: typos ? on : off };
}

/** The generated types require a Buffer. Payloads from the store are Buffers already. */
function bytesMessage(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function suggestErrorMessage({ code, reason, message }: ErrorSummary): proto.SuggestError {
  return { code, reason: ErrorReason[`ERROR_REASON_${reason}`], message };
}
