import { type DeadSet, isDead, isSuffixIndex, type SuffixIndex } from '../layer/layer';
import { compareForms, compareIds, entryIdBytesAt } from '../layer/packed-entry';
import { type EntryPlace, type IndexedEntry, readEntry, type View, type ViewLayer } from '../layer/view';
import { STEPS, type Work } from '../work';
import { firstNotBefore } from './intervals';
import { compareByText, firstRankAfter, rankAt, type TextPlace, TextRange } from './places';
import { LowestRanks } from './suffix-search';
import { STOPPED, type Stopped } from './view-suggest';

/**
 * The first element of `beginnings` after `element` and before `to` with another form than `element`. The distance to the
 * examined elements doubles, so a short run of equal forms costs little.
 */
export function endOfEqualForms({ forms, beginnings }: SuffixIndex, element: number, to: number): number {
  const { positions } = beginnings;
  const form = positions[element] as number;
  const isEqual = (other: number) => compareForms(forms, form, forms, positions[other] as number) === 0;
  let equal = element;
  let distance = 1;
  while (equal + distance < to && isEqual(equal + distance)) {
    equal += distance;
    distance *= 2;
  }
  return firstFrom(equal + 1, Math.min(equal + distance, to), (other) => !isEqual(other));
}

/**
 * Lists the entries of a layer by text through the sorted beginnings of forms. Beginnings of aliases are left out.
 * Equal forms are sorted by position, and so by rank. So equal forms with equal scores are also sorted by entry id.
 */
class SuffixListing {
  readonly #ranks: number[] = [];

  constructor(
    private readonly index: SuffixIndex,
    private readonly dead: DeadSet,
    private readonly range: TextRange,
    private readonly limit: number,
    private readonly work: Work,
  ) {}

  /** The first entries of the range by text and id. Undefined: the work is used up. */
  ranks(): readonly number[] | undefined {
    const { forms, beginnings } = this.index;
    const { lowest, bound } = this.range;
    const to = bound ? firstNotBefore(forms, beginnings.positions, bound) : beginnings.positions.length;
    let element = firstNotBefore(forms, beginnings.positions, lowest);
    while (element < to && this.#ranks.length < this.limit) {
      const next = endOfEqualForms(this.index, element, to);
      if (!this.#addEqualForms(element, next)) return undefined;
      element = next;
    }
    return this.#ranks;
  }

  /** Adds the entries of some equal forms in the order of their ids. False: the work is used up. */
  #addEqualForms(from: number, to: number): boolean {
    const { forms, entries, entryAt, beginnings } = this.index;
    const form = beginnings.positions[from] as number;
    const idBefore = this.range.idBefore(forms, form);
    const idAt = (rank: number) => entryAt[rank] as number;
    const lowest = new LowestRanks(this.limit - this.#ranks.length, (a, b) =>
      compareIds(entries, idAt(a), entries, idAt(b)),
    );
    let element = from;
    while (element < to) {
      const next = this.#endOfEqualScores(element, to);
      if (!this.#addEqualScores(element, next, idBefore, lowest)) return false;
      element = next;
    }
    this.#ranks.push(...lowest.ranks);
    return true;
  }

  /** Adds the entries of some equal forms with equal scores. False: the work is used up. */
  #addEqualScores(from: number, to: number, idBefore: Buffer, lowest: LowestRanks): boolean {
    const { positions } = this.index.beginnings;
    for (let element = this.#firstAfterId(from, to, idBefore); element < to; element += 1) {
      if (!this.work.spend(STEPS.entry)) return false;
      const rank = this.#rankOf(element);
      // The form is an alias of an entry with a later text. All later entries have later texts too.
      if (positions[element] !== this.index.formsAt[rank]) return true;
      if (isDead(this.dead, rank)) continue;
      if (Buffer.compare(entryIdBytesAt(this.index, rank), idBefore) <= 0) continue;
      // All later ids are higher.
      if (!lowest.accepts(rank)) return true;
      lowest.add(rank);
    }
    return true;
  }

  /** The first element of an entry with a later text, or with this text and a higher id. */
  #firstAfterId(from: number, to: number, id: Buffer): number {
    if (to - from === 1) return from;
    const { forms, formsAt, scores, beginnings } = this.index;
    const form = forms.subarray(beginnings.positions[from]);
    const firstRank = firstRankAfter(this.index, { score: scores[this.#rankOf(from)] as number, form, id });
    const firstPosition = formsAt[firstRank] as number;
    this.work.spend(STEPS.halving * Math.log2(this.index.count + 1));
    return firstFrom(from, to, (element) => (beginnings.positions[element] as number) >= firstPosition);
  }

  /** The end of the elements with the same score as `element`. The distance to the examined elements doubles. */
  #endOfEqualScores(element: number, to: number): number {
    const { scores } = this.index;
    const score = scores[this.#rankOf(element)];
    let distance = 1;
    while (element + distance < to && scores[this.#rankOf(element + distance)] === score) distance *= 2;
    const end = Math.min(element + distance, to);
    return firstFrom(element + 1, end, (other) => scores[this.#rankOf(other)] !== score);
  }

  #rankOf(element: number): number {
    return rankAt(this.index.formsAt, this.index.beginnings.positions[element] as number);
  }
}

/**
 * The first number from `from` for which the condition holds; `to` if there is none. The condition must hold for all
 * later numbers.
 */
function firstFrom(from: number, to: number, holds: (element: number) => boolean): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

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
