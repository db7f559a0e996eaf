import { fold } from './fold';
import { forms, kindOf, wantedKinds } from './match';
import { segments } from './segments';
import { MATCH_KINDS, type MatchKind, type Profile, type Recent, type Suggestion } from './suggestion';

/** What is asked of a list of recents. */
export interface RecentsQuestion {
  /** As it was typed; empty: all of them. */
  readonly query: string;
  /** Those wanted; all if empty. */
  readonly kinds: readonly MatchKind[];
  readonly accents: Profile['accents'];
  readonly typos: boolean;
}

export interface RankedRecent {
  readonly recent: Recent;
  /** Its text as it was compared. */
  readonly folded: string;
  readonly kind: MatchKind;
}

/** A list of recents, the most recent first, as suggestions: see `rankRecents`. At most `limit` of them. */
export function suggestRecents(
  recents: readonly Recent[],
  question: RecentsQuestion,
  limit: number,
): Suggestion[] {
  return rankRecents(recents, question)
    .slice(0, limit)
    .map((ranked) => toSuggestion(ranked, question));
}

/**
 * Those of the recents (most recent first) that match by their own text, by kind, and the most recent first within
 * one. Of two that are the same thing only the more recent one is looked at.
 */
export function rankRecents(recents: readonly Recent[], question: RecentsQuestion): RankedRecent[] {
  const typed = fold(question.query, question.accents);
  const wanted = wantedKinds(question.kinds, question.typos);
  const byKind = new Map<MatchKind, RankedRecent[]>(MATCH_KINDS.map((kind) => [kind, []]));
  const known = new SameThings();
  for (const recent of recents) {
    const folded = fold(recent.text, question.accents);
    if (!known.add(recent.entryId, folded)) continue;
    const kind = kindOf(forms([folded]), typed, wanted);
    if (kind !== undefined) byKind.get(kind)?.push({ recent, folded, kind });
  }
  return [...byKind.values()].flat();
}

/** A recent as it is shown, without the score that only its dictionary knows. */
export function toSuggestion({ recent, kind }: RankedRecent, question: RecentsQuestion): Suggestion {
  const { entryId, text, payload } = recent;
  const shown = segments(text, question.query, kind, question.accents);
  return { entryId, text, segments: shown, payload, kind, score: 0, recent: true };
}

/**
 * Which things have been met. Two are the same if they have the same entry id; if one has none, by their folded
 * texts. So two people of one name stay two as long as both have an id.
 */
export class SameThings {
  readonly #ids = new Set<string>();
  readonly #texts = new Set<string>();
  readonly #textsWithoutId = new Set<string>();

  /** An empty id is none. */
  has(entryId: string, folded: string): boolean {
    if (entryId === '') return this.#texts.has(folded);
    return this.#ids.has(entryId) || this.#textsWithoutId.has(folded);
  }

  /** False, and nothing changes, if it is the same as one that was added before. */
  add(entryId: string, folded: string): boolean {
    if (this.has(entryId, folded)) return false;
    this.#texts.add(folded);
    if (entryId === '') this.#textsWithoutId.add(folded);
    else this.#ids.add(entryId);
    return true;
  }
}
