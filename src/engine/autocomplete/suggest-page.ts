import type { RankedEntry, RankPosition, Ranking } from './dictionary-store';
import { fold } from './fold';
import type { RankedRecent } from './recents-ranking';
import { SeenSuggestions } from './recents-ranking';
import { segments } from './segments';
import { MATCH_KINDS, type MatchKind, type Profile, type Suggestion } from './suggestion';

/** The position at which a page ended: after a recent, or after an entry. Page tokens contain this position. */
export type PagePosition =
  | {
      readonly of: 'recents';
      readonly kind: MatchKind;
      /** Index among the recents of the kind, from 0. */
      readonly index: number;
      readonly entryId: string;
      readonly text: string;
    }
  | { readonly of: 'entries'; readonly at: RankPosition };

interface PositionedSuggestion {
  readonly suggestion: Suggestion;
  /** A function, because only the last suggestion of a page needs its position. */
  position(): PagePosition;
}

export interface Page {
  readonly suggestions: readonly Suggestion[];
  /** The position for the next page. Undefined: this is the last page. */
  readonly next: PagePosition | undefined;
}

/** The store's position for the page after `position`. */
export function rankAfter(position: PagePosition | undefined): RankPosition | undefined {
  if (position === undefined) return undefined;
  if (position.of === 'entries') return position.at;
  return { kind: position.kind, at: 'first' };
}

/**
 * Merges one page of a dictionary's entries with the caller's recents. Within each kind, recents come first. An entry
 * that is also a recent appears once, at the position of the recent.
 */
export function mergePage(
  ranking: Ranking,
  recents: readonly RankedRecent[],
  after: PagePosition | undefined,
  query: string,
  pageSize: number,
): Page {
  const { accents } = ranking.profile;
  const shown = recentsAfter(recents, after);
  const merged: PositionedSuggestion[] = [];
  const others = withoutRecents(ranking.entries, recents, accents);
  for (const kind of MATCH_KINDS) {
    // The store has not ranked all entries of a better kind, so this kind belongs to a later page.
    if (ranking.next && rankOf(kind) > rankOf(ranking.next.kind)) break;
    const recentsOfKind = recents.filter((ranked) => ranked.kind === kind);
    for (const ranked of shown) {
      if (ranked.kind === kind)
        merged.push(suggestionOfRecent(ranked, recentsOfKind.indexOf(ranked), ranking, query));
    }
    for (const entry of others)
      if (entry.kind === kind) merged.push(suggestionOfEntry(entry, query, accents));
  }
  const page = merged.slice(0, pageSize);
  const suggestions = page.map(({ suggestion }) => suggestion);
  if (merged.length > pageSize) return { suggestions, next: page[page.length - 1]?.position() };
  return { suggestions, next: ranking.next && { of: 'entries', at: ranking.next } };
}

function withoutRecents(
  entries: readonly RankedEntry[],
  recents: readonly RankedRecent[],
  accents: Profile['accents'],
): readonly RankedEntry[] {
  if (recents.length === 0) return entries;
  const seen = new SeenSuggestions();
  for (const { recent, folded } of recents) seen.add(recent.entryId, folded);
  return entries.filter(({ entryId, text }) => !seen.has(entryId, fold(text, accents)));
}

function rankOf(kind: MatchKind): number {
  return MATCH_KINDS.indexOf(kind);
}

/** Returns the recents that belong after the position `after`. */
function recentsAfter(
  recents: readonly RankedRecent[],
  after: PagePosition | undefined,
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

function suggestionOfRecent(
  { recent, kind, folded }: RankedRecent,
  index: number,
  ranking: Ranking,
  query: string,
): PositionedSuggestion {
  const { entryId, text, payload } = recent;
  const { accents } = ranking.profile;
  const sameEntry = ranking.entries.find((entry) => isSameSuggestion(entry, entryId, folded, accents));
  return {
    suggestion: {
      entryId: entryId === '' ? (sameEntry?.entryId ?? '') : entryId,
      text,
      segments: segments(text, query, kind, accents),
      payload: payload.length === 0 && sameEntry ? sameEntry.payload : payload,
      kind,
      score: sameEntry?.score ?? 0,
      recent: true,
    },
    position: () => ({ of: 'recents', kind, index, entryId, text }),
  };
}

function isSameSuggestion(
  entry: RankedEntry,
  entryId: string,
  folded: string,
  accents: Profile['accents'],
): boolean {
  return entryId === '' ? fold(entry.text, accents) === folded : entry.entryId === entryId;
}

function suggestionOfEntry(
  entry: RankedEntry,
  query: string,
  accents: Profile['accents'],
): PositionedSuggestion {
  const { entryId, text, payload, kind, score } = entry;
  const shown = segments(text, query, kind, accents);
  return {
    suggestion: { entryId, text, segments: shown, payload, kind, score, recent: false },
    position: () => ({ of: 'entries', at: { kind, at: { score, text: fold(text, accents), entryId } } }),
  };
}

/** Checks the position of a page token. Its checksum is no signature, so a forged token may contain any value. */
export function isPagePosition(value: unknown): value is PagePosition {
  if (!isObject(value)) return false;
  if (value['of'] === 'recents') {
    const { kind, index, entryId, text } = value;
    return (
      isKind(kind) && Number.isSafeInteger(index) && Number(index) >= 0 && isText(entryId) && isText(text)
    );
  }
  const at = value['at'];
  return value['of'] === 'entries' && isObject(at) && isKind(at['kind']) && isEntryPosition(at['at']);
}

/** The position of a record, in hexadecimal: the key of its list, a zero byte, and the position in this list. */
const RECORD = /^([0-9a-f]{2}){1,20}00([0-9a-f]{2}){6,200}$/;

function isEntryPosition(at: unknown): boolean {
  if (!isObject(at)) return false;
  if (isText(at['record'])) return RECORD.test(at['record']) && isText(at['past']) && isPast(at['past']);
  return Number.isSafeInteger(at['score']) && isText(at['text']) && isText(at['entryId']);
}

/** `past` is empty, or a JSON array of a score in digits, a text and an entry id. */
function isPast(past: string): boolean {
  if (past === '') return true;
  try {
    const parts: unknown = JSON.parse(past);
    return (
      Array.isArray(parts) && parts.length === 3 && parts.every(isText) && /^\d{1,16}$/.test(String(parts[0]))
    );
  } catch {
    return false;
  }
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
