import { MATCH_KINDS, type MatchKind } from '../../suggestion';
import { isDead, isSuffixIndex, type Layer } from '../layer/layer';
import { compareEntries } from '../layer/packed-entry';
import { SmallLayerSearch } from './plain-search';
import { type KindNumber, numberOf, type Query } from './query';
import { firstRankAfter, formOf } from './places';
import { type EntryPlace, type IndexedEntry, readEntry, type View, type ViewLayer } from '../layer/view';
import { SuffixSearch } from './suffix-search';
import { STEPS, type Work } from '../work';

/*
 * The way of a query through the files: `suggest` asks each layer for the best ranks, kind by kind, and merges them.
 * suffix-search.ts finds the ranks of a large layer: intervals.ts finds the query in the sorted positions, or
 * typos.ts the typos of the query; intervals.ts returns positions in the order of rank; query.ts
 * decides whether a candidate counts. plain-search.ts finds the ranks of a small layer.
 */

/** The place after which a page begins. Entries of better kinds belong to earlier pages. */
export interface PageStart {
  readonly kind: MatchKind;
  readonly at:
    | /** Before all entries of the kind. */ 'first'
    | /** After the place of an entry. `text` is folded. The entry may be gone. */ {
        readonly score: number;
        readonly text: string;
        readonly entryId: string;
      };
}

export interface SuggestedEntry extends IndexedEntry {
  readonly kind: MatchKind;
}

/** The bound of work was reached, or the search was cancelled. */
export interface Stopped {
  readonly kind: 'stopped';
}

export interface Suggestions {
  readonly kind: 'found';
  /** The best entries: by kind, then in the order of rank. */
  readonly entries: readonly SuggestedEntry[];
  /** True: more entries follow. */
  readonly more: boolean;
}

export const STOPPED: Stopped = { kind: 'stopped' };

/** The best entries for a query after a place, at most `limit`. All of them, if `more` is false. */
export function suggest(
  { layers }: View,
  query: Query,
  limit: number,
  after: PageStart | undefined,
  work: Work,
): Suggestions | Stopped {
  const pages = layers.map((viewLayer) => new LayerPages(viewLayer, query, after, work));
  const found: FoundEntry[] = [];
  for (const kind of query.kinds) {
    if (after && kind < numberOf(after.kind)) continue;
    // One entry more than the limit shows that more entries follow.
    const missing = limit + 1 - found.length;
    const ofKind: FoundEntry[] = [];
    for (const page of pages) {
      const ranks = page.matches(kind, missing);
      if (ranks === undefined) return STOPPED;
      for (const rank of ranks) ofKind.push({ layer: page.layer, rank, kind });
    }
    if (layers.length > 1) ofKind.sort((a, b) => compareEntries(a.layer, a.rank, b.layer, b.rank));
    found.push(...ofKind.slice(0, missing));
    if (found.length > limit) break;
  }
  return { kind: 'found', entries: found.slice(0, limit).map(suggestedEntry), more: found.length > limit };
}

interface FoundEntry extends EntryPlace {
  readonly kind: KindNumber;
}

function suggestedEntry({ layer, rank, kind }: FoundEntry): SuggestedEntry {
  return Object.assign(readEntry(layer, rank), { kind: MATCH_KINDS[kind] as MatchKind });
}

/** The part of a page from one layer. */
class LayerPages {
  readonly #search: LayerSearch;

  constructor(
    private readonly viewLayer: ViewLayer,
    query: Query,
    private readonly after: PageStart | undefined,
    work: Work,
  ) {
    this.#search = searchOf(viewLayer, query, work);
  }

  get layer(): Layer {
    return this.viewLayer.layer;
  }

  /** The first entries of this kind after the start of the page. Undefined: the work is used up. */
  matches(kind: KindNumber, limit: number): readonly number[] | undefined {
    return this.#search.matches(kind, this.#firstRank(kind), limit);
  }

  #firstRank(kind: KindNumber): number {
    const { after } = this;
    if (after === undefined || after.at === 'first' || numberOf(after.kind) !== kind) return 0;
    const { score, text, entryId } = after.at;
    return firstRankAfter(this.layer, { score, form: formOf(text), id: Buffer.from(entryId) });
  }
}

/** Finds the ranks of one layer that match best by a kind, from a rank upward. Undefined: the work is used up. */
interface LayerSearch {
  matches(kind: KindNumber, from: number, limit: number): readonly number[] | undefined;
}

function searchOf(viewLayer: ViewLayer, query: Query, work: Work): LayerSearch {
  const { layer, dead } = viewLayer;
  if (query.bytes.length === 0)
    return { matches: (_, from, limit) => aliveRanks(viewLayer, from, limit, work) };
  if (isSuffixIndex(layer)) return new SuffixSearch(layer, dead, query, work);
  return new SmallLayerSearch(layer, dead, query, work);
}

function aliveRanks(
  { layer, dead }: ViewLayer,
  from: number,
  limit: number,
  work: Work,
): readonly number[] | undefined {
  const ranks: number[] = [];
  for (let rank = from; rank < layer.count && ranks.length < limit; rank += 1) {
    if (!work.spend(STEPS.nextRank)) return undefined;
    if (!isDead(dead, rank)) ranks.push(rank);
  }
  return ranks;
}
