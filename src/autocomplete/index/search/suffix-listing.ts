import { isDead, type DeadSet } from '../layer/dead-set';
import { endOfEqualForms } from './equal-forms';
import { firstNotBefore } from './interval';
import type { SuffixIndex } from '../layer/layer';
import { LowestRanks } from './lowest-ranks';
import { compareIds, entryIdBytesAt } from '../layer/packed-entry';
import { firstRankAfter, rankAt } from './rank-place';
import type { TextRange } from './text-order';
import { STEPS, type Work } from '../work';

/**
 * Lists the entries of a layer by text through the sorted beginnings of forms. Beginnings of aliases are left out.
 * Equal forms are sorted by position, and so by rank. So equal forms with equal scores are also sorted by entry id.
 */
export class SuffixListing {
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
