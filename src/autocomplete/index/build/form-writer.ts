import { fold } from '../../text/fold';
import type { Profile } from '../../suggestion';
import { CharacterFolds, NOT_ALONE } from './character-folds';
import { grown } from '../growable';
import { compareForms } from '../layer/packed-entry';
import { characterLength, codePointAt } from './utf8';

const FIRST_BYTES = 1024;
/** The most bytes of folded form for each byte of a character that is in the table of `CharacterFolds`. */
const MAX_FOLDED_BYTES = 4;
const BYTE_BITS = 8;

/** Appends the folded forms of entries to one array. A zero byte ends each form. */
export class FormWriter {
  #bytes: Uint8Array;
  #length = 0;
  readonly #folds: CharacterFolds;

  constructor(
    private readonly accents: Profile['accents'],
    expectedBytes = FIRST_BYTES,
  ) {
    this.#bytes = new Uint8Array(expectedBytes);
    this.#folds = new CharacterFolds(accents);
  }

  /** The forms, and unused bytes after them. The array changes when it grows. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  get length(): number {
    return this.#length;
  }

  /** Appends the form of a text in UTF-8. */
  append(text: Uint8Array, from: number, to: number): void {
    if (!this.#appendByCharacters(text, from, to)) this.#appendAsWhole(text, from, to);
    this.#bytes[this.#length++] = 0;
  }

  /** Appends the form of an alias, unless the form is empty or equal to a form of the entry. */
  appendAlias(text: Uint8Array, from: number, to: number, entryStart: number): void {
    const start = this.#length;
    this.append(text, from, to);
    if (this.#bytes[start] === 0 || this.#isRepeated(start, entryStart)) this.#length = start;
  }

  /** Appends bytes that are already folded. There is room for one more byte afterwards. */
  appendForms(forms: Uint8Array, from: number, to: number): void {
    this.#reserve(to - from).set(forms.subarray(from, to), this.#length);
    this.#length += to - from;
  }

  /** False, and nothing is appended: a character of the text may fold differently beside other characters. */
  #appendByCharacters(text: Uint8Array, from: number, to: number): boolean {
    const bytes = this.#reserve(MAX_FOLDED_BYTES * (to - from));
    let length = this.#length;
    for (let at = from; at < to; at += characterLength(text[at] as number)) {
      let folded = this.#folds.bytesOf(codePointAt(text, at));
      if (folded === NOT_ALONE) return false;
      for (; folded !== 0; folded >>>= BYTE_BITS) bytes[length++] = folded;
    }
    this.#length = length;
    return true;
  }

  #appendAsWhole(text: Uint8Array, from: number, to: number): void {
    const folded = Buffer.from(fold(Buffer.from(text.subarray(from, to)).toString(), this.accents));
    this.appendForms(folded, 0, folded.length);
  }

  /** Grows the array if it has no room for this number of bytes and a zero byte. */
  #reserve(byteCount: number): Uint8Array {
    this.#bytes = grown(this.#bytes, this.#length + byteCount + 1);
    return this.#bytes;
  }

  /** True if the form at `start` is equal to a form between `entryStart` and `start`. */
  #isRepeated(start: number, entryStart: number): boolean {
    let form = entryStart;
    while (form < start) {
      if (compareForms(this.#bytes, form, this.#bytes, start) === 0) return true;
      form = this.#bytes.indexOf(0, form) + 1;
    }
    return false;
  }
}
