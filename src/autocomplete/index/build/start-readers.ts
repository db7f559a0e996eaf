import { isContinuation } from './utf8';

/** Reads positions in rising order. */
export interface StartReader {
  /** The number of all positions. */
  readonly count: number;
  /** Begins again with the first position. */
  rewind(): void;
  /** Writes the next positions into `chunk`. Returns their number; 0 at the end. */
  read(chunk: Uint32Array): number;
}

/** Reads the position of every character and of every empty form. */
export class CharacterStarts implements StartReader {
  #at = 0;

  constructor(
    private readonly forms: Uint8Array,
    readonly count: number,
  ) {}

  rewind(): void {
    this.#at = 0;
  }

  read(chunk: Uint32Array): number {
    const { forms } = this;
    let before = this.#at === 0 ? 0 : (forms[this.#at - 1] as number);
    let length = 0;
    let at = this.#at;
    for (; at < forms.length && length < chunk.length; at++) {
      const byte = forms[at] as number;
      if (byte === 0 ? before === 0 : !isContinuation(byte)) chunk[length++] = at;
      before = byte;
    }
    this.#at = at;
    return length;
  }
}

/** Reads the positions of a list. */
export class ListedStarts implements StartReader {
  #next = 0;

  constructor(private readonly starts: Uint32Array) {}

  get count(): number {
    return this.starts.length;
  }

  rewind(): void {
    this.#next = 0;
  }

  read(chunk: Uint32Array): number {
    const part = this.starts.subarray(this.#next, this.#next + chunk.length);
    chunk.set(part);
    this.#next += part.length;
    return part.length;
  }
}
