import { characterBefore, codePointAt } from './utf8';

/** The classes of characters that decide where words begin, as in match.ts. */
export const OTHER = 0;
export const MARK = 1;
export const LETTER_OR_DIGIT = 2;

const UNKNOWN = 0xff;
const LETTERS_AND_DIGITS = /[\p{L}\p{N}]/u;
const MARKS = /\p{M}/u;

/** The class of each code point that was asked for. */
const known = new Uint8Array(0x110000).fill(UNKNOWN);

export function classOf(codePoint: number): number {
  const found = known[codePoint] as number;
  return found === UNKNOWN ? learnClass(codePoint) : found;
}

function learnClass(codePoint: number): number {
  const character = String.fromCodePoint(codePoint);
  const found = LETTERS_AND_DIGITS.test(character) ? LETTER_OR_DIGIT : MARKS.test(character) ? MARK : OTHER;
  known[codePoint] = found;
  return found;
}

/** True if a word starts between two neighbouring characters of these classes. */
export function wordStartsBetween(before: number, after: number): boolean {
  return after === LETTER_OR_DIGIT && before === OTHER;
}

/** True if a word starts at this character. The character must not be the first of its form. */
export function isWordStart(forms: Uint8Array, at: number): boolean {
  if (classOf(codePointAt(forms, at)) !== LETTER_OR_DIGIT) return false;
  return classOf(codePointAt(forms, characterBefore(forms, at))) === OTHER;
}
