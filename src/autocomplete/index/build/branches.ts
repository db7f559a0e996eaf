import { characterLength, codePointAt, isContinuation } from './characters';
import type { WorkMeter } from '../work';

/**
 * The sorted beginnings of forms are a tree: the forms with the same first d characters are neighbours, and are a node of
 * depth d. The branch of an element is the largest node that begins with this element. If the element has c characters
 * in common with the element before, the branch has the depth c + 1.
 *
 * A branch is one number, the lowest bits first:
 *
 *   c, at most 255 (8 bits), the marks of the characters after the first c (6 bits each), the size of the branch (12 bits)
 *
 * The size is the number of elements of the branch, at most 4095. An element with the same form as the element before
 * begins no branch. Its size is the number of equal forms from this element on.
 */

const MAX_COMMON = 255;
const MARK_BITS = 6;
const MARK_SHIFT = 8;
const NEXT_MARK_SHIFT = MARK_SHIFT + MARK_BITS;
const SIZE_SHIFT = NEXT_MARK_SHIFT + MARK_BITS;
const LARGEST_MARK = 2 ** MARK_BITS - 1;
const MAX_SIZE = 2 ** (32 - SIZE_SHIFT) - 1;
/** The mark after the last character of a form. */
export const NO_CHARACTER = 0;

/** The number of characters that the form has in common with the form of the element before; 0 for the first element. */
export function commonOf(branch: number): number {
  return branch & MAX_COMMON;
}

/** The mark of the first character that is not in common. NO_CHARACTER: the element before has the same form. */
export function markOf(branch: number): number {
  return (branch >>> MARK_SHIFT) & LARGEST_MARK;
}

/** The mark of the second character that is not in common. */
export function nextMarkOf(branch: number): number {
  return (branch >>> NEXT_MARK_SHIFT) & LARGEST_MARK;
}

/** At least 1, and at most the number of elements of the branch. */
export function sizeOf(branch: number): number {
  return branch >>> SIZE_SHIFT;
}

/** The lowest 5 bits of the code point, and a bit that says that there is a character. Characters may share a mark. */
export function markOfCharacter(codePoint: number): number {
  return codePoint === 0 ? NO_CHARACTER : 32 | (codePoint & 31);
}

/** Fills `branches` for the sorted beginnings of forms. */
export function fillBranches(
  forms: Uint8Array,
  beginnings: Uint32Array,
  branches: Uint32Array,
  meter: WorkMeter,
): void {
  const count = beginnings.length;
  for (let element = 0; element < count; element++) {
    const before = element === 0 ? undefined : beginnings[element - 1];
    branches[element] = branchWithoutSize(forms, before, beginnings[element] as number);
    meter.spend(1 + commonOf(branches[element] as number));
  }
  // A branch ends where its inner branches end, so this loop fills the last branches first.
  for (let element = count - 1; element >= 0; element--) {
    const branch = branches[element] as number;
    const size = endOfBranch(branches, element) - element;
    branches[element] = branch + Math.min(size, MAX_SIZE) * 2 ** SIZE_SHIFT;
    meter.spend(2);
  }
}

function branchWithoutSize(forms: Uint8Array, before: number | undefined, beginning: number): number {
  let common = 0;
  let at = beginning;
  for (let other = before ?? beginning; before !== undefined && common < MAX_COMMON; other += 1) {
    const byte = forms[at] as number;
    if (byte === 0 || byte !== forms[other]) break;
    at += 1;
    // The first byte of a character decides its length, so a character ends at the same place in both forms.
    if (!isContinuation(forms[at] as number)) common += 1;
  }
  while (isContinuation(forms[at] as number)) at -= 1;
  const character = codePointAt(forms, at);
  const next = character === 0 ? 0 : codePointAt(forms, at + characterLength(forms[at] as number));
  return common | (markOfCharacter(character) << MARK_SHIFT) | (markOfCharacter(next) << NEXT_MARK_SHIFT);
}

function endOfBranch(branches: Uint32Array, element: number): number {
  const branch = branches[element] as number;
  let end = element + 1;
  while (end < branches.length && commonOf(branches[end] as number) > commonOf(branch))
    end += sizeOf(branches[end] as number);
  if (markOf(branch) !== NO_CHARACTER || end === branches.length) return end;
  const next = branches[end] as number;
  const isEqualForm = markOf(next) === NO_CHARACTER && commonOf(next) === commonOf(branch);
  return isEqualForm ? end + sizeOf(next) : end;
}
