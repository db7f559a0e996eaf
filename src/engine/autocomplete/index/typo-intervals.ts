import { EditRows, MATCHES, UNDECIDED } from './edit-rows';
import { endOfEqualForms } from './equal-forms';
import { intervalOf, type Interval } from './interval';
import type { SuffixIndex } from './layer';
import { COMMON_GROUP } from './layer-memory';
import type { Query } from './query';
import { characterLength, codePointAt } from './utf8';
import { STEPS, type Work } from './work';

/**
 * The intervals of `beginnings` with all forms that begin with a typo of the query but not with the query itself.
 * Undefined: the work is used up.
 */
export function typoIntervals(index: SuffixIndex, query: Query, work: Work): Interval[] | undefined {
  const { bytes } = query;
  const firstCharacter = bytes.subarray(0, characterLength(bytes[0] as number));
  const sameFirst = intervalOf(index.forms, index.beginnings, firstCharacter);
  const prefix = intervalOf(index.forms, index.beginnings, bytes);
  const search = new TypoSearch(index, query, work);
  const complete = search.search(sameFirst.from, prefix.from) && search.search(prefix.to, sameFirst.to);
  return complete ? search.found : undefined;
}

/**
 * Reads forms in the order of `beginnings`. After d characters have decided whether the form matches, all next forms with
 * the same d characters are skipped.
 */
class TypoSearch {
  readonly found: Interval[] = [];
  readonly #rows: EditRows;
  /** The position after the first d characters of the form, from the form's beginning, by d. */
  readonly #ends: Uint32Array;
  /** The number of characters that were read of the last form. */
  #depth = 0;

  constructor(
    private readonly index: SuffixIndex,
    query: Query,
    private readonly work: Work,
  ) {
    this.#rows = new EditRows(query.codePoints, query.maxEdits);
    this.#ends = new Uint32Array(this.#rows.maxDepth + 1);
  }

  /** Searches the elements from `from` to `to`. False: the work is used up. */
  search(from: number, to: number): boolean {
    this.#depth = 0;
    let element = from;
    while (element < to) {
      const depthBefore = Math.min(this.#depth, this.index.common[element] as number);
      const verdict = this.#read(element, depthBefore);
      const next = verdict === UNDECIDED ? this.#afterEqual(element, to) : this.#afterCommon(element, to);
      if (verdict === MATCHES) this.#keep(element, next);
      const steps = STEPS.farForm + (this.#depth - depthBefore) * STEPS.editRow;
      if (!this.work.spend(steps + ((next - element) / COMMON_GROUP) * STEPS.farForm)) return false;
      element = next;
    }
    return true;
  }

  /** Reads a form until its match is decided. UNDECIDED: the form is too short. */
  #read(element: number, depth: number): number {
    const { forms, beginnings } = this.index;
    const beginning = beginnings.positions[element] as number;
    this.#depth = depth;
    let at = beginning + (this.#ends[depth] as number);
    for (;;) {
      const firstByte = forms[at] as number;
      if (firstByte === 0) return UNDECIDED;
      const character = codePointAt(forms, at);
      at += characterLength(firstByte);
      this.#depth += 1;
      this.#ends[this.#depth] = at - beginning;
      const verdict = this.#rows.add(character, this.#depth);
      if (verdict !== UNDECIDED) return verdict;
    }
  }

  /** The first element after `element` that has not all characters that were read. */
  #afterCommon(element: number, to: number): number {
    const { common, commonMinima } = this.index;
    const depth = this.#depth;
    let next = element + 1;
    while (next < to && (common[next] as number) >= depth) {
      next += 1;
      while (next % COMMON_GROUP === 0 && next < to && (commonMinima[next / COMMON_GROUP] as number) >= depth)
        next += COMMON_GROUP;
    }
    return Math.min(next, to);
  }

  /** The first element after `element` with another form. */
  #afterEqual(element: number, to: number): number {
    const { common } = this.index;
    if (element + 1 >= to || (common[element + 1] as number) < this.#depth) return element + 1;
    return endOfEqualForms(this.index, element, to);
  }

  #keep(from: number, to: number): void {
    const last = this.found.at(-1);
    if (last?.to === from) this.found.pop();
    this.found.push({ list: this.index.beginnings, from: last?.to === from ? last.from : from, to });
  }
}
