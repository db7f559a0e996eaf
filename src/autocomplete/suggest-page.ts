import { EntryClaims, isClaimed, type RankedRecent } from './recents';
import { fold } from './text/fold';
import {
  MATCH_KINDS,
  type MatchKind,
  type Profile,
  type RankedEntry,
  type Ranking,
  type RankPosition,
  type Suggestion,
} from './suggestion';
import { segments } from './text/segments';

/** The position at which a page ended: after a recent, or after an entry. */
type PagePosition =
  | {
      readonly of: 'recents';
      readonly kind: MatchKind;
      /** Index among the recents of the kind, from 0. */
      readonly index: number;
      readonly entryId: string;
      readonly text: string;
    }
  | { readonly of: 'entries'; readonly at: RankPosition };

/** The start of the next page. Page tokens contain this start. */
export type PageStart = PagePosition & {
  /** The entries that recents claimed on earlier pages, see `EntryClaims`. Undefined: none. */
  readonly claimed?: string;
};

interface PositionedSuggestion {
  readonly suggestion: Suggestion;
  /** The number of the ranked entries before this suggestion, with its own entry. */
  readonly entryCount: number;
  /** A function, because only the last suggestion of a page needs its position. */
  position(): PagePosition;
}

export interface Page {
  readonly suggestions: readonly Suggestion[];
  /** Undefined: this is the last page. */
  readonly next: PageStart | undefined;
}

/** The place of the first entry of the page after `position`. */
export function rankAfter(position: PagePosition | undefined): RankPosition | undefined {
  if (position === undefined) return undefined;
  if (position.of === 'entries') return position.at;
  return { kind: position.kind, at: 'first' };
}

/**
 * Merges one page of a dictionary's entries with the caller's recents. Within each kind, recents come first. An entry
 * and a recent that are one suggestion appear once, at the position of the recent.
 */
export function mergePage(
  ranking: Ranking,
  recents: readonly RankedRecent[],
  after: PageStart | undefined,
  query: string,
  pageSize: number,
): Page {
  const { entries, next, profile } = ranking;
  const typed = fold(query, profile.accents);
  const claims = new EntryClaims(entries, recents, after?.claimed ?? '');
  const shown = recentsAfter(recents, after);
  const merged: PositionedSuggestion[] = [];
  let entryCount = 0;
  for (const kind of MATCH_KINDS) {
    // More entries of a better kind follow, so this kind belongs to a later page.
    if (next && rankOf(kind) > rankOf(next.kind)) break;
    const recentsOfKind = recents.filter((ranked) => ranked.kind === kind);
    for (const ranked of shown) {
      if (ranked.kind !== kind) continue;
      const suggestion = suggestionOfRecent(ranked, claims.entryOf(ranked), typed, profile.accents);
      const index = recentsOfKind.indexOf(ranked);
      merged.push({ suggestion, entryCount, position: () => positionOfRecent(ranked, index) });
    }
    for (; entries[entryCount]?.kind === kind; entryCount += 1) {
      const entry = entries[entryCount] as RankedEntry;
      if (claims.has(entry)) continue;
      const suggestion = suggestionOfEntry(entry, typed, profile.accents);
      const position = () => positionOfEntry(entry);
      merged.push({ suggestion, entryCount: entryCount + 1, position });
    }
  }
  const page = merged.slice(0, pageSize);
  const suggestions = page.map(({ suggestion }) => suggestion);
  const last = page.at(-1);
  if (merged.length > pageSize && last) {
    return { suggestions, next: startAt(last.position(), claims.claimed(last.entryCount)) };
  }
  return {
    suggestions,
    next: next && startAt({ of: 'entries', at: next }, claims.claimed(entries.length)),
  };
}

function startAt(position: PagePosition, claimed: string): PageStart {
  return claimed === '' ? position : { ...position, claimed };
}

function rankOf(kind: MatchKind): number {
  return MATCH_KINDS.indexOf(kind);
}

/** Returns the recents that belong after the position `after`. */
function recentsAfter(
  recents: readonly RankedRecent[],
  after: PageStart | undefined,
): readonly RankedRecent[] {
  if (after === undefined) return recents;
  const reached = after.of === 'recents' ? after.kind : after.at.kind;
  const later = recents.filter(({ kind }) => rankOf(kind) > rankOf(reached));
  if (after.of === 'entries') return later;
  const ofKind = recents.filter(({ kind }) => kind === reached);
  const last = ofKind.findIndex(
    ({ recent }) => recent.entryId === after.entryId && (after.entryId !== '' || recent.text === after.text),
  );
  // After a removal, the next recent has taken the index. A recent that was used again has moved to the front.
  const next = last < 0 ? after.index : Math.max(last, after.index) + 1;
  return [...ofKind.slice(next), ...later];
}

/** `sameEntry` is the entry of this page that is one suggestion with the recent. */
function suggestionOfRecent(
  { recent, folded, kind }: RankedRecent,
  sameEntry: RankedEntry | undefined,
  typed: string,
  accents: Profile['accents'],
): Suggestion {
  const { entryId, text, payload } = recent;
  return {
    entryId: entryId === '' ? (sameEntry?.entryId ?? '') : entryId,
    text,
    segments: segments({ text, folded }, typed, kind, accents),
    payload: payload.length === 0 && sameEntry ? sameEntry.payload : payload,
    kind,
    score: sameEntry?.score ?? 0,
    recent: true,
  };
}

function positionOfRecent({ recent, kind }: RankedRecent, index: number): PagePosition {
  return { of: 'recents', kind, index, entryId: recent.entryId, text: recent.text };
}

function suggestionOfEntry(entry: RankedEntry, typed: string, accents: Profile['accents']): Suggestion {
  const { entryId, text, foldedText, payload, kind, score } = entry;
  return {
    entryId,
    text,
    segments: segments({ text, folded: foldedText }, typed, kind, accents),
    payload,
    kind,
    score,
    recent: false,
  };
}

function positionOfEntry({ kind, score, foldedText, entryId }: RankedEntry): PagePosition {
  return { of: 'entries', at: { kind, at: { score, text: foldedText, entryId } } };
}

/** Checks the content of a page token. Its checksum is no signature, so a forged token may contain any value. */
export function isPageStart(value: unknown): value is PageStart {
  if (!isObject(value)) return false;
  if (value['claimed'] !== undefined && !isClaimed(value['claimed'])) return false;
  if (value['of'] === 'recents') {
    const { kind, index, entryId, text } = value;
    return (
      isKind(kind) && Number.isSafeInteger(index) && Number(index) >= 0 && isText(entryId) && isText(text)
    );
  }
  const at = value['at'];
  return value['of'] === 'entries' && isObject(at) && isKind(at['kind']) && isEntryPosition(at['at']);
}

function isEntryPosition(at: unknown): boolean {
  if (!isObject(at)) return false;
  return Number.isSafeInteger(at['score']) && isText(at['text']) && isText(at['entryId']);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isKind(value: unknown): value is MatchKind {
  return MATCH_KINDS.some((kind) => kind === value);
}
