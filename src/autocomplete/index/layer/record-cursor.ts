const LOW_BITS = 0x7f;
const MORE = 0x80;

/**
 * Reads the numbers and texts of a record in their order (stored-record.ts), without a copy. One cursor can read many
 * records.
 */
export class RecordCursor {
  #bytes: Uint8Array = new Uint8Array();
  #end = 0;
  /** The position of the next number or text. */
  #at = 0;

  /** Returns the number of aliases. */
  open(bytes: Uint8Array, from = 0, to = bytes.length): number {
    this.#bytes = bytes;
    this.#at = from + 1;
    this.#end = to;
    return to > from ? (bytes[from] as number) : this.#damaged();
  }

  number(): number {
    let value = 0;
    for (let scale = 1; ; scale *= MORE) {
      if (this.#at >= this.#end) this.#damaged();
      const byte = this.#bytes[this.#at++] as number;
      value += (byte & LOW_BITS) * scale;
      if (byte < MORE) return value;
    }
  }

  /** Skips a text and returns the position of its first byte. The text ends at `position`. */
  text(): number {
    const length = this.number();
    const from = this.#at;
    this.#at += length;
    return this.#at <= this.#end ? from : this.#damaged();
  }

  get position(): number {
    return this.#at;
  }

  #damaged(): never {
    throw new RangeError('A record of a dictionary entry is damaged.');
  }
}
