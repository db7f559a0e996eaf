import { createHash } from 'node:crypto';
import type { RankedEntry } from './ranking';
import type { RankedRecent } from './recents-ranking';

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
