import { commonOf, markOf, nextMarkOf, sizeOf } from '../build/branches';
import { EditRows, MATCHES, TOO_FAR, UNDECIDED } from './edit-rows';
import { intervalOf, type Interval } from './interval';
import type { SuffixIndex } from '../layer/layer';
import type { Query } from './query';
import { characterLength, codePointAt } from '../build/utf8';
import { STEPS, type Work } from '../work';

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
 * the same d characters are skipped. The marks of a branch (branches.ts) rule out most forms without a read of the
 * form, which costs a cache miss.
 */
class TypoSearch {
  readonly found: Interval[] = [];
  readonly #rows: EditRows;
  /** The number of characters of the last form that were read, or that were ruled out by their marks. */
  #depth = 0;

  constructor(
    private readonly index: SuffixIndex,
    query: Query,
    private readonly work: Work,
  ) {
    this.#rows = new EditRows(query.codePoints, query.maxEdits);
  }

  /** Searches the elements from `from` to `to`. False: the work is used up. */
  search(from: number, to: number): boolean {
    const { branches } = this.index;
    this.#depth = 0;
    let element = from;
    while (element < to) {
      const branch = branches[element] as number;
      this.#depth = Math.min(this.#depth, commonOf(branch));
      const verdict = this.#isRuledOut(branch) ? TOO_FAR : this.#read(element);
      const next = verdict === UNDECIDED ? element + 1 : this.#endOfNode(element, to);
      if (verdict === MATCHES) this.#keep(element, next);
      if (!this.work.spend(STEPS.branch)) return false;
      element = next;
    }
    return true;
  }

  /** No form of the branch matches, by its marks. False: the form must be read. */
  #isRuledOut(branch: number): boolean {
    const depth = commonOf(branch);
    // Characters before the branch are not known yet.
    if (depth > this.#depth) return false;
    if (this.#rows.mayContinue(depth, markOf(branch))) {
      if (!this.#rows.addMark(markOf(branch), depth + 1)) return false;
      this.#depth = depth + 1;
      if (this.#rows.mayContinue(depth + 1, nextMarkOf(branch))) return false;
    }
    this.#depth += 1;
    return true;
  }

  /** Reads the next characters of a form until its match is decided. UNDECIDED: the form is too short. */
  #read(element: number): number {
    const { forms, beginnings } = this.index;
    let at = beginnings.positions[element] as number;
    const depth = this.#depth;
    for (let passed = 0; passed < depth; passed += 1) at += characterLength(forms[at] as number);
    let verdict: number = UNDECIDED;
    while (verdict === UNDECIDED && forms[at] !== 0) {
      this.#depth += 1;
      verdict = this.#rows.add(codePointAt(forms, at), this.#depth);
      at += characterLength(forms[at] as number);
    }
    this.work.spend(STEPS.farForm + depth * STEPS.formByte + (this.#depth - depth) * STEPS.editRow);
    return verdict;
  }

  /** The first element after `element`, at most `to`, without all characters that were read. */
  #endOfNode(element: number, to: number): number {
    const { branches } = this.index;
    const branch = branches[element] as number;
    let next = element + (commonOf(branch) + 1 === this.#depth ? sizeOf(branch) : 1);
    while (next < to && commonOf(branches[next] as number) >= this.#depth) {
      next += sizeOf(branches[next] as number);
      this.work.spend(STEPS.branch);
    }
    return Math.min(next, to);
  }

  #keep(from: number, to: number): void {
    const last = this.found.at(-1);
    if (last?.to === from) this.found.pop();
    this.found.push({ list: this.index.beginnings, from: last?.to === from ? last.from : from, to });
  }
}
