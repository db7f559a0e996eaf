import { fold } from './fold';
import { packForms, kindOf, wantedKinds } from './match';
import { segments } from './segments';
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
  return rankRecents(recents, wanted)
    .slice(0, limit)
    .map((ranked) => toSuggestion(ranked, wanted));
}

/**
 * The recents that match by their own text, sorted by kind, then the most recent first. `recents` starts with the
 * most recent. If two recents have the same identity, only the more recent is returned.
 */
export function rankRecents(recents: readonly Recent[], wanted: RecentsMatchQuery): RankedRecent[] {
  const typed = fold(wanted.query, wanted.accents);
  const kinds = wantedKinds(wanted.kinds, wanted.typos);
  const byKind = new Map<MatchKind, RankedRecent[]>(MATCH_KINDS.map((kind) => [kind, []]));
  const seen = new SeenSuggestions();
  for (const recent of recents) {
    const folded = fold(recent.text, wanted.accents);
    if (!seen.add(recent.entryId, folded)) continue;
    const kind = kindOf(packForms([folded]), typed, kinds);
    if (kind !== undefined) byKind.get(kind)?.push({ recent, folded, kind });
  }
  return [...byKind.values()].flat();
}

/** The suggestion for a recent. Its score is 0, because only a dictionary has scores. */
export function toSuggestion({ recent, kind }: RankedRecent, wanted: RecentsMatchQuery): Suggestion {
  const { entryId, text, payload } = recent;
  const shown = segments(text, wanted.query, kind, wanted.accents);
  return { entryId, text, segments: shown, payload, kind, score: 0, recent: true };
}

/**
 * The recents and entries seen so far. Two suggestions with entry ids are the same if their ids are equal. Any other
 * two suggestions are the same if their folded texts are equal. So two people of one name stay two suggestions if both
 * have an id.
 */
export class SeenSuggestions {
  readonly #ids = new Set<string>();
  readonly #texts = new Set<string>();
  readonly #textsWithoutId = new Set<string>();

  /** An empty `entryId` stands for a suggestion without an entry id. */
  has(entryId: string, folded: string): boolean {
    if (entryId === '') return this.#texts.has(folded);
    return this.#ids.has(entryId) || this.#textsWithoutId.has(folded);
  }

  /** Returns false and changes nothing if the same suggestion was added before. */
  add(entryId: string, folded: string): boolean {
    if (this.has(entryId, folded)) return false;
    this.#texts.add(folded);
    if (entryId === '') this.#textsWithoutId.add(folded);
    else this.#ids.add(entryId);
    return true;
  }
}
