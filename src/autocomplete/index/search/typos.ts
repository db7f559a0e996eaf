import { commonOf, markOf, nextMarkOf, NO_CHARACTER, sizeOf } from '../build/branches';
import { characterLength, codePointAt } from '../build/characters';
import type { SuffixIndex } from '../layer/layer';
import { STEPS, type Work } from '../work';
import { type Interval, intervalOf } from './intervals';
import type { Query } from './query';

/** What the characters read so far say about the form. */
export const UNDECIDED = 0;
/** The characters are a typo of the query, so each form that begins with the characters matches. */
export const MATCHES = 1;
/** No form that begins with the characters matches. */
const TOO_FAR = 2;

/** A distance that is not exact, but larger than every allowed number of edits. */
const FAR = 100;
/** Stands for a missing character. Differs from every character, and from every other missing character. */
const BEFORE_FORM = -1;
const OUTSIDE_QUERY = -2;
/** Stands for all characters that are not near in the query. */
const OTHER = -3;
/** All bits. */
const ANY_CHARACTER = -1;

/**
 * The edit distances between the prefixes of a query and the prefixes of one form: the optimal string alignment
 * distance, as in match.ts. The row d has the distances of the first d characters of the form to the prefixes of the
 * query. Only prefixes with d - maxEdits to d + maxEdits characters can be near enough, so a row has only these cells
 * and a border cell at each end. A row stays until a character at the same or a lower depth replaces the row, so forms
 * with a common prefix share the rows of this prefix.
 */
export class EditRows {
  readonly #queryLength: number;
  readonly #maxEdits: number;
  /** The cell of the row d that has the distance to the first c characters of the query is c - d + maxEdits + 1. */
  readonly #width: number;
  readonly #cells: Uint8Array;
  /** The query, and characters outside the query for the cells that have no character. */
  readonly #typed: Int32Array;
  /** The characters of the form, from depth 1. */
  readonly #characters: Int32Array;
  /** By row, one bit for each mark (branches.ts): the marks of characters after which the next row is not TOO_FAR. */
  readonly #continuations: Int32Array;
  /** By row, one bit for each mark: the marks of all characters that are compared with the character of the row. */
  readonly #compared: Int32Array;

  constructor(query: readonly number[], maxEdits: number) {
    const rows = query.length + maxEdits + 1;
    this.#queryLength = query.length;
    this.#maxEdits = maxEdits;
    this.#width = 2 * maxEdits + 3;
    this.#cells = new Uint8Array(rows * this.#width).fill(FAR);
    for (let column = 0; column <= maxEdits; column += 1) this.#cells[column + maxEdits + 1] = column;
    this.#typed = new Int32Array(rows + this.#width).fill(OUTSIDE_QUERY);
    this.#typed.set(query, maxEdits + 2);
    this.#characters = new Int32Array(rows).fill(BEFORE_FORM);
    this.#continuations = new Int32Array(rows).fill(ANY_CHARACTER);
    this.#compared = new Int32Array(rows);
    for (let depth = 1; depth < rows; depth += 1) {
      for (const typed of this.#typed.subarray(depth, depth + this.#width))
        this.#compared[depth] = (this.#compared[depth] as number) | (1 << typed);
    }
  }

  /** Adds the row of the character at this depth. The rows of all lower depths must belong to the same form. */
  add(character: number, depth: number): number {
    const cells = this.#cells;
    const typed = this.#typed;
    const maxEdits = this.#maxEdits;
    const width = this.#width;
    const before = this.#characters[depth - 1];
    this.#characters[depth] = character;
    // The next row is of another form.
    this.#characters[depth + 1] = BEFORE_FORM;
    const row = depth * width;
    let nearest = FAR;
    let left = FAR;
    let typedBefore = typed[depth];
    for (let cell = 1; cell < width - 1; cell += 1) {
      const typedHere = typed[depth + cell];
      const replaced = (cells[row - width + cell] as number) + (typedHere === character ? 0 : 1);
      const inserted = (cells[row - width + cell + 1] as number) + 1;
      let distance = replaced < inserted ? replaced : inserted;
      if (left < distance) distance = left + 1;
      if (typedHere === before && typedBefore === character) {
        distance = Math.min(distance, (cells[row - 2 * width + cell] as number) + 1);
      }
      if (distance > FAR) distance = FAR;
      cells[row + cell] = left = distance;
      if (distance < nearest) nearest = distance;
      typedBefore = typedHere;
    }
    const whole = this.#queryLength - depth + maxEdits + 1;
    if (whole < width - 1 && (cells[row + whole] as number) <= maxEdits) return MATCHES;
    // A swap skips a row, but then a cell of the skipped row is near enough too.
    if (nearest > maxEdits) return TOO_FAR;
    this.#continuations[depth] = nearest < maxEdits ? ANY_CHARACTER : this.#continuationsWithoutEdit(depth);
    return UNDECIDED;
  }

  /**
   * Adds the row of a character when only its mark (branches.ts) is known. False: a character with this mark is near in
   * the query, so the row depends on the character. `mayContinue` must be true for the row before and this mark. Then
   * the new row is UNDECIDED: the character can stand for one of the query, but cannot complete a match.
   */
  addMark(mark: number, depth: number): boolean {
    if (((this.#compared[depth] as number) & (1 << mark)) !== 0) return false;
    // All such characters after the same prefix have one row.
    if (this.#characters[depth] !== OTHER) this.add(OTHER, depth);
    return true;
  }

  /** False: no form with a character of this mark after the row of this depth matches. The row must be UNDECIDED. */
  mayContinue(depth: number, mark: number): boolean {
    return mark !== NO_CHARACTER && ((this.#continuations[depth] as number) & (1 << mark)) !== 0;
  }

  /**
   * The row has no cell below `maxEdits`, so only a correct character can follow. The last character of a swap is correct
   * too: the first character can also be an insertion, which costs as much.
   */
  #continuationsWithoutEdit(depth: number): number {
    let continuations = 0;
    for (let cell = 1; cell < this.#width - 1; cell += 1) {
      const isNear = this.#cells[depth * this.#width + cell] === this.#maxEdits;
      if (isNear) continuations |= 1 << (this.#typed[depth + 1 + cell] as number);
    }
    return continuations;
  }
}

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
