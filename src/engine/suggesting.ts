import type { RankedEntry, RankPosition, Ranking } from './dictionary-store';
import { fold } from './fold';
import type { RankedRecent } from './recents-ranking';
import { SameThings } from './recents-ranking';
import { segments } from './segments';
import { MATCH_KINDS, type MatchKind, type Profile, type Suggestion } from './suggestion';

/** Where a page ended: within the recents of a kind, or within its entries. Travels in page tokens. */
export type PagePosition =
  | { readonly of: 'recents'; readonly kind: MatchKind; readonly entryId: string; readonly text: string }
  | { readonly of: 'entries'; readonly at: RankPosition };

interface Placed {
  readonly suggestion: Suggestion;
  /** Only the last one of a page is asked for it. */
  position(): PagePosition;
}

export interface Page {
  readonly suggestions: readonly Suggestion[];
  /** Undefined: that was all. */
  readonly next: PagePosition | undefined;
}

/** What the store is to look after, for a page that goes on from here. */
export function rankAfter(position: PagePosition | undefined): RankPosition | undefined {
  if (position === undefined) return undefined;
  if (position.of === 'entries') return position.at;
  return { kind: position.kind, at: 'first' };
}

/**
 * One page of a dictionary's entries and a caller's recents: kind by kind, in each the recents first. An entry that is
 * also a recent is shown as that, at the recent's place.
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
  const placed: Placed[] = [];
  const others = withoutRecents(ranking.entries, recents, accents);
  for (const kind of MATCH_KINDS) {
    // What comes after entries that the store has not got to is for a later page.
    if (ranking.next && rankOf(kind) > rankOf(ranking.next.kind)) break;
    for (const ranked of shown) if (ranked.kind === kind) placed.push(placeRecent(ranked, ranking, query));
    for (const entry of others) if (entry.kind === kind) placed.push(placeEntry(entry, query, accents));
  }
  const page = placed.slice(0, pageSize);
  const suggestions = page.map(({ suggestion }) => suggestion);
  if (placed.length > pageSize) return { suggestions, next: page[page.length - 1]?.position() };
  return { suggestions, next: ranking.next && { of: 'entries', at: ranking.next } };
}

function withoutRecents(
  entries: readonly RankedEntry[],
  recents: readonly RankedRecent[],
  accents: Profile['accents'],
): readonly RankedEntry[] {
  if (recents.length === 0) return entries;
  const same = new SameThings();
  for (const { recent, folded } of recents) same.add(recent.entryId, folded);
  return entries.filter(({ entryId, text }) => !same.has(entryId, fold(text, accents)));
}

function rankOf(kind: MatchKind): number {
  return MATCH_KINDS.indexOf(kind);
}

/** Those that were not on an earlier page. */
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
  // One that has been removed since: the rest of its kind was more recent, or will be found by another query.
  return last < 0 ? later : [...ofKind.slice(last + 1), ...later];
}

function placeRecent({ recent, kind, folded }: RankedRecent, ranking: Ranking, query: string): Placed {
  const { entryId, text, payload } = recent;
  const { accents } = ranking.profile;
  const twin = ranking.entries.find((entry) => isTwin(entry, entryId, folded, accents));
  return {
    suggestion: {
      entryId: entryId === '' ? (twin?.entryId ?? '') : entryId,
      text,
      segments: segments(text, query, kind, accents),
      payload: payload.length === 0 && twin ? twin.payload : payload,
      kind,
      score: twin?.score ?? 0,
      recent: true,
    },
    position: () => ({ of: 'recents', kind, entryId, text }),
  };
}

function isTwin(entry: RankedEntry, entryId: string, folded: string, accents: Profile['accents']): boolean {
  return entryId === '' ? fold(entry.text, accents) === folded : entry.entryId === entryId;
}

function placeEntry(entry: RankedEntry, query: string, accents: Profile['accents']): Placed {
  const { entryId, text, payload, kind, score } = entry;
  const shown = segments(text, query, kind, accents);
  return {
    suggestion: { entryId, text, segments: shown, payload, kind, score, recent: false },
    position: () => ({ of: 'entries', at: { kind, at: { score, text: fold(text, accents), entryId } } }),
  };
}
