import { fold } from '../../text/fold';
import type { Profile } from '../../suggestion';

/**
 * The answer for a character that may fold differently beside other characters, and for a long folded form. No UTF-8
 * has these bytes.
 */
export const NOT_ALONE = 0xffffffff;

const UNKNOWN = 0;
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
    return known === UNKNOWN ? this.#learn(codePoint) : known;
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
