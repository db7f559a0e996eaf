import { DROPPED_MARKS } from './dropped-marks-table';

/** A run of marks that are removed when accents are dropped. */
const marks = new RegExp(`[${DROPPED_MARKS.trim().split(/\s+/).map(characterRange).join('')}]+`, 'gu');

/**
 * Removes the accents and points of a decomposed text: the marks of Latin, Greek, Cyrillic, Hebrew, Arabic and Syriac,
 * and the marks of no single script. The marks of all other scripts stay, because they are parts of letters. Folded
 * texts are stored, so the marks come from a fixed table, and all versions of Node remove the same marks.
 */
export function withoutMarks(decomposed: string): string {
  return decomposed.replace(marks, '');
}

function characterRange(range: string): string {
  return range
    .split('-')
    .map((codePoint) => `\\u{${codePoint}}`)
    .join('-');
}
