import { isDead } from '../layer/dead-set';
import { isSuffixIndex } from '../layer/layer';
import { LowestRanks } from './lowest-ranks';
import { readEntry, type IndexedEntry } from '../layer/read-entry';
import { SuffixListing } from './suffix-listing';
import { compareByText, TextRange, type TextPlace } from './text-order';
import type { EntryPlace, View, ViewLayer } from '../layer/view';
import { STOPPED, type Stopped } from './view-suggest';
import { STEPS, type Work } from '../work';

export interface Listing {
  readonly kind: 'found';
  /** In the order of folded text, then entry id. */
  readonly entries: readonly IndexedEntry[];
  /** True: more entries follow. */
  readonly more: boolean;
}

/**
 * The entries with a folded text from `from` and before `to`, after the place `after`, at most `limit`. All of them, if
 * `more` is false. `from` and `to` are folded, and an empty `to` is no bound.
 */
export function list(
  { layers }: View,
  from: string,
  to: string,
  limit: number,
  after: TextPlace | undefined,
  work: Work,
): Listing | Stopped {
  const range = new TextRange(from, to, after);
  const found: EntryPlace[] = [];
  for (const viewLayer of layers) {
    // One entry more than the limit shows that more entries follow.
    const ranks = ranksByText(viewLayer, range, limit + 1, work);
    if (ranks === undefined) return STOPPED;
    found.push(...ranks.map((rank) => ({ layer: viewLayer.layer, rank })));
  }
  if (layers.length > 1) found.sort((a, b) => compareByText(a.layer, a.rank, b.layer, b.rank));
  const entries = found.slice(0, limit).map(({ layer, rank }) => readEntry(layer, rank));
  return { kind: 'found', entries, more: found.length > limit };
}

/** The first entries of the range in the order of text and id. Undefined: the work is used up. */
function ranksByText(
  { layer, dead }: ViewLayer,
  range: TextRange,
  limit: number,
  work: Work,
): readonly number[] | undefined {
  if (isSuffixIndex(layer)) return new SuffixListing(layer, dead, range, limit, work).ranks();
  const lowest = new LowestRanks(limit, (a, b) => compareByText(layer, a, layer, b));
  for (let rank = 0; rank < layer.count; rank += 1) {
    if (!work.spend(STEPS.entry)) return undefined;
    if (isDead(dead, rank) || !range.contains(layer, rank)) continue;
    if (lowest.accepts(rank)) lowest.add(rank);
  }
  return lowest.ranks;
}
