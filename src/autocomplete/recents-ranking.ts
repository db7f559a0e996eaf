import { fold } from './text/fold';
import { packForms, kindOf, wantedKinds } from './text/match';
import { segments } from './text/segments';
import { MATCH_KINDS, type MatchKind, type Profile, type Recent, type Suggestion } from './suggestion';

/** A query for a list of recents. */
export interface RecentsMatchQuery {
  /** Not folded; empty: all recents. */
  readonly query: string;
  /** The wanted kinds; empty: all kinds. */
  readonly kinds: readonly MatchKind[];
  readonly accents: Profile['accents'];
  readonly typos: boolean;
}

export interface RankedRecent {
  readonly recent: Recent;
  /** The folded text of the recent. */
  readonly folded: string;
  readonly kind: MatchKind;
}

/** At most `limit` suggestions, in the order of `rankRecents`. */
export function suggestRecents(
  recents: readonly Recent[],
  wanted: RecentsMatchQuery,
  limit: number,
): Suggestion[] {
  const typed = fold(wanted.query, wanted.accents);
  return rankRecents(recents, wanted)
    .slice(0, limit)
    .map((ranked) => toSuggestion(ranked, typed, wanted.accents));
}

/**
 * The recents that match by their own text, sorted by kind, then the most recent first. `recents` starts with the
 * most recent. Recents that are one suggestion are returned once.
 */
export function rankRecents(recents: readonly Recent[], wanted: RecentsMatchQuery): RankedRecent[] {
  const typed = fold(wanted.query, wanted.accents);
  const kinds = wantedKinds(wanted.kinds, wanted.typos);
  const byKind = new Map<MatchKind, RankedRecent[]>(MATCH_KINDS.map((kind) => [kind, []]));
  for (const { recent, folded } of distinctRecents(recents, wanted.accents)) {
    const kind = kindOf(packForms([folded]), typed, kinds);
    if (kind !== undefined) byKind.get(kind)?.push({ recent, folded, kind });
  }
  return [...byKind.values()].flat();
}

interface FoldedRecent {
  recent: Recent;
  readonly folded: string;
}

/**
 * Joins recents that are one suggestion, at the place of the most recent. Recents with the same entry id are one
 * suggestion. A recent without an entry id joins the most recent other recent with the same folded text, and gets the
 * id of that recent. So two people with the same name stay two suggestions if both have an id.
 */
function distinctRecents(recents: readonly Recent[], accents: Profile['accents']): FoldedRecent[] {
  const distinct: FoldedRecent[] = [];
  const ids = new Set<string>();
  const byText = new Map<string, FoldedRecent>();
  for (const recent of recents) {
    const { entryId } = recent;
    if (entryId !== '' && ids.has(entryId)) continue;
    const folded = fold(recent.text, accents);
    const same = byText.get(folded);
    if (entryId !== '') ids.add(entryId);
    else if (same) continue;
    if (same?.recent.entryId === '') {
      same.recent = withIdOf(same.recent, recent);
      continue;
    }
    const found = { recent, folded };
    distinct.push(found);
    if (!same) byText.set(folded, found);
  }
  return distinct;
}

function withIdOf({ text, payload }: Recent, other: Recent): Recent {
  return { text, entryId: other.entryId, payload: payload.length === 0 ? other.payload : payload };
}

/** The suggestion for a recent. Its score is 0, because only a dictionary has scores. */
function toSuggestion(
  { recent, folded, kind }: RankedRecent,
  typed: string,
  accents: Profile['accents'],
): Suggestion {
  const { entryId, text, payload } = recent;
  const shown = segments({ text, folded }, typed, kind, accents);
  return { entryId, text, segments: shown, payload, kind, score: 0, recent: true };
}
