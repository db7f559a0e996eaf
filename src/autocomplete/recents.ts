import { createHash } from 'node:crypto';
import {
  MATCH_KINDS,
  type MatchKind,
  type Profile,
  type RankedEntry,
  type Recent,
  type Suggestion,
} from './suggestion';
import { fold } from './text/fold';
import { kindOf, packForms, wantedKinds } from './text/match';
import { segments } from './text/segments';

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

/** A digest of 48 bits, because a page token may contain the digests of 1,000 recents. */
const DIGEST_BYTES = 6;
const DIGEST = /[\w-]{8}/g;
const DIGESTS = /^([\w-]{8}){0,1000}$/;

/**
 * The entries of a page that are one suggestion with a recent. An entry belongs to the recent with its entry id. A
 * recent without an entry id claims one entry: the first in rank order with the same folded text that belongs to no
 * other recent. A page sees only a part of the entries, so page tokens contain the claims of earlier pages.
 */
export class EntryClaims {
  readonly #recentOf = new Map<RankedEntry, RankedRecent>();
  readonly #entryOf = new Map<RankedRecent, RankedEntry>();
  readonly #claimedBefore: readonly string[];
  /** The folded texts of the claims on this page, with the index of the claimed entry. */
  readonly #claimedHere: { readonly folded: string; readonly index: number }[] = [];

  /** `entries` are in rank order. `claimedBefore` is the result of `claimed` for the previous page; empty: page one. */
  constructor(entries: readonly RankedEntry[], recents: readonly RankedRecent[], claimedBefore: string) {
    const byId = new Map<string, RankedRecent>();
    const byText = new Map<string, RankedRecent>();
    for (const ranked of recents) {
      if (ranked.recent.entryId === '') byText.set(ranked.folded, ranked);
      else byId.set(ranked.recent.entryId, ranked);
    }
    this.#claimedBefore = removeClaimed(byText, claimedBefore);
    if (recents.length === 0) return;
    entries.forEach((entry, index) => {
      const { foldedText: folded } = entry;
      const own = byId.get(entry.entryId);
      const recent = own ?? byText.get(folded);
      if (!recent) return;
      this.#recentOf.set(entry, recent);
      this.#entryOf.set(recent, entry);
      if (own) return;
      byText.delete(folded);
      this.#claimedHere.push({ folded, index });
    });
  }

  /** True: the entry is shown as a recent. */
  has(entry: RankedEntry): boolean {
    return this.#recentOf.has(entry);
  }

  /** The entry of this page that is one suggestion with the recent. */
  entryOf(recent: RankedRecent): RankedEntry | undefined {
    return this.#entryOf.get(recent);
  }

  /** All claims among the entries of earlier pages and the first `count` entries of this page. */
  claimed(count: number): string {
    const here = this.#claimedHere.filter(({ index }) => index < count);
    return [...this.#claimedBefore, ...here.map(({ folded }) => digestOf(folded))].join('');
  }
}

/** Checks the claims of a page token. */
export function isClaimed(value: unknown): value is string {
  return typeof value === 'string' && DIGESTS.test(value);
}

/** Removes the recents with an earlier claim from the map. Returns the digests of these recents. */
function removeClaimed(byText: Map<string, RankedRecent>, claimed: string): readonly string[] {
  if (claimed === '') return [];
  const digests = new Set(claimed.match(DIGEST));
  const removed: string[] = [];
  for (const folded of [...byText.keys()]) {
    const digest = digestOf(folded);
    if (digests.has(digest) && byText.delete(folded)) removed.push(digest);
  }
  return removed;
}

function digestOf(folded: string): string {
  const digest = createHash('sha256').update(folded).digest();
  return digest.subarray(0, DIGEST_BYTES).toString('base64url');
}
