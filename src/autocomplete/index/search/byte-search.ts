import { STEPS, type Work } from '../work';

/** One call of the native search passes at most this number of bytes, because the call cannot be interrupted. */
const WINDOW_BYTES = 64 * 1024;

export const NOT_FOUND = -1;
export const OUT_OF_WORK = -2;

/** Finds some bytes in the forms of a layer by the native search of Node. */
export class ByteSearch {
  readonly #forms: Buffer;
  readonly #wanted: Buffer;
  /** True if `wanted` begins with the zero byte before the form. No zero byte is before the first form. */
  readonly #atBeginning: boolean;
  /**
   * The part of the forms that the native search passes now: the bytes where `wanted` may begin, and then the length of
   * `wanted`.
   */
  #window: Buffer;
  #windowFrom = 0;

  /** Finds `bytes`: at the beginning of a form if `atBeginning`, and before the end of a form if `atEnd`. */
  constructor(
    forms: Uint8Array,
    bytes: Buffer,
    { atBeginning, atEnd }: { readonly atBeginning: boolean; readonly atEnd: boolean },
  ) {
    this.#forms = Buffer.from(forms.buffer, forms.byteOffset, forms.length);
    this.#atBeginning = atBeginning;
    this.#wanted = Buffer.concat([
      END.subarray(0, atBeginning ? 1 : 0),
      bytes,
      END.subarray(0, atEnd ? 1 : 0),
    ]);
    this.#window = this.#forms.subarray(0, WINDOW_BYTES + this.#wanted.length);
  }

  /** The first position of the bytes that is not before `from`; NOT_FOUND or OUT_OF_WORK. */
  next(from: number, work: Work): number {
    if (!this.#atBeginning) return this.#find(from, work);
    if (from > 0) {
      const zero = this.#find(from - 1, work);
      return zero < 0 ? zero : zero + 1;
    }
    const wanted = this.#wanted.subarray(1);
    if (wanted.equals(this.#forms.subarray(0, wanted.length))) return 0;
    return this.next(1, work);
  }

  #find(from: number, work: Work): number {
    let start = from;
    for (;;) {
      this.#moveWindow(start);
      const found = this.#window.indexOf(this.#wanted, start - this.#windowFrom);
      const windowEnd = this.#windowFrom + this.#window.length;
      const at = found < 0 ? NOT_FOUND : this.#windowFrom + found;
      const passed = (at === NOT_FOUND ? windowEnd : at) - start;
      if (!work.spend(STEPS.nativeSearch + passed * STEPS.nativeByte)) return OUT_OF_WORK;
      if (at !== NOT_FOUND || windowEnd === this.#forms.length) return at;
      start = windowEnd - this.#wanted.length + 1;
    }
  }

  /** Moves the window if the part before `start` is more than half of the window. */
  #moveWindow(start: number): void {
    const windowEnd = this.#windowFrom + this.#window.length;
    if (windowEnd === this.#forms.length || start - this.#windowFrom < WINDOW_BYTES / 2) return;
    this.#windowFrom = start;
    this.#window = this.#forms.subarray(start, start + WINDOW_BYTES + this.#wanted.length);
  }
}

const END = Buffer.of(0);
