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
