import type { Profile } from '../../suggestion';
import { fold } from '../../text/fold';

/** Reads UTF-8 in byte arrays. All functions expect well-formed UTF-8. */

const TWO_BYTES = 0xc0;
const THREE_BYTES = 0xe0;
const FOUR_BYTES = 0xf0;
const CONTINUATION = 0x80;
/** The bits of a continuation byte that belong to the code point. */
const LOW_BITS = 0x3f;

/** True for each byte of a character except the first. */
export function isContinuation(byte: number): boolean {
  return (byte & TWO_BYTES) === CONTINUATION;
}

/** The number of bytes of a character, by its first byte. */
export function characterLength(firstByte: number): number {
  if (firstByte < TWO_BYTES) return 1;
  if (firstByte < THREE_BYTES) return 2;
  return firstByte < FOUR_BYTES ? 3 : 4;
}

/** The code point of the character that starts at this position. */
export function codePointAt(bytes: Uint8Array, at: number): number {
  const first = bytes[at] as number;
  if (first < TWO_BYTES) return first;
  const second = (bytes[at + 1] as number) & LOW_BITS;
  if (first < THREE_BYTES) return ((first & 0x1f) << 6) | second;
  const third = (bytes[at + 2] as number) & LOW_BITS;
  if (first < FOUR_BYTES) return ((first & 0x0f) << 12) | (second << 6) | third;
  return ((first & 0x07) << 18) | (second << 12) | (third << 6) | ((bytes[at + 3] as number) & LOW_BITS);
}

/** The position of the character before this position. The position must not be 0. */
export function characterBefore(bytes: Uint8Array, at: number): number {
  let before = at - 1;
  while (isContinuation(bytes[before] as number)) before -= 1;
  return before;
}

/** The classes of characters that decide where words begin, as in match.ts. */
export const OTHER = 0;
export const MARK = 1;
export const LETTER_OR_DIGIT = 2;

const UNKNOWN_CLASS = 0xff;
const LETTERS_AND_DIGITS = /[\p{L}\p{N}]/u;
const MARKS = /\p{M}/u;

/** The class of each code point that was asked for. */
const known = new Uint8Array(0x110000).fill(UNKNOWN_CLASS);

export function classOf(codePoint: number): number {
  const found = known[codePoint] as number;
  return found === UNKNOWN_CLASS ? learnClass(codePoint) : found;
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

/**
 * The answer for a character that may fold differently beside other characters, and for a long folded form. No UTF-8
 * has these bytes.
 */
export const NOT_ALONE = 0xffffffff;

const UNKNOWN_FOLD = 0;
const MAX_BYTES = 4;
const BYTE = 256;

/**
 * Characters that never compose with the character before, and are no marks: letters of Latin, Greek, Cyrillic,
 * Hebrew and Arabic, kana, Han, Hangul syllables, full-width letters, spaces and common punctuation. All other
 * characters may fold differently beside other characters.
 */
const BEGINS_ALONE = new RegExp(
  '^[\\u0001-\\u02ff\\u0370-\\u0482\\u048a-\\u052f\\u05d0-\\u05ea\\u0621-\\u063a\\u0641-\\u064a\\u1e00-\\u1fff' +
    '\\u2010-\\u2027\\u3041-\\u3096\\u30a1-\\u30fa\\u30fc\\u3400-\\u4dbf\\u4e00-\\u9fff\\uac00-\\ud7a3\\uff01-\\uff5e]',
);

/**
 * The folded forms of single characters. A text folds to the forms of its characters if, in every step of `fold`, no
 * character composes with the character before. So a character is in the table if the result of every step begins with
 * a character that never composes.
 */
export class CharacterFolds {
  readonly #known = new Uint32Array(0x10000);

  constructor(private readonly accents: Profile['accents']) {}

  /** The bytes of the folded form, the first byte lowest; NOT_ALONE: the text must be folded as a whole. */
  bytesOf(codePoint: number): number {
    // There is no element for a code point outside the basic plane.
    const known = this.#known[codePoint] ?? NOT_ALONE;
    return known === UNKNOWN_FOLD ? this.#learn(codePoint) : known;
  }

  #learn(codePoint: number): number {
    const bytes = this.#fold(String.fromCodePoint(codePoint));
    this.#known[codePoint] = bytes;
    return bytes;
  }

  #fold(character: string): number {
    const folded = fold(character, this.accents);
    const steps = [character, character.normalize('NFKC'), fold(character, 'kept'), folded];
    const bytes = Buffer.from(folded);
    if (!steps.every((step) => BEGINS_ALONE.test(step)) || bytes.length > MAX_BYTES) return NOT_ALONE;
    return bytes.reduceRight((packed, byte) => packed * BYTE + byte, 0);
  }
}
