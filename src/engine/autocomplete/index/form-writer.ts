import { fold } from '../fold';
import type { Profile } from '../suggestion';
import { grown } from './growable';
import { compareForms } from './packed-entry';

const FIRST_BYTES = 1024;

/** Appends the folded forms of entries to one array. A zero byte ends each form. */
export class FormWriter {
  #bytes: Uint8Array;
  #length = 0;

  constructor(
    private readonly accents: Profile['accents'],
    expectedBytes = FIRST_BYTES,
  ) {
    this.#bytes = new Uint8Array(expectedBytes);
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
    const folded = Buffer.from(
      fold(Buffer.from(text.buffer, text.byteOffset + from, to - from).toString(), this.accents),
    );
    this.appendForms(folded, 0, folded.length);
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
    this.#bytes = grown(this.#bytes, this.#length + to - from + 1);
    this.#bytes.set(forms.subarray(from, to), this.#length);
    this.#length += to - from;
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
