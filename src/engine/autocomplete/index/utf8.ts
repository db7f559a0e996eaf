/** Reads and writes UTF-8 in byte arrays. All functions expect well-formed UTF-8. */

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

/** Writes at most 4 bytes. Returns the position after the character. */
export function writeCodePoint(bytes: Uint8Array, at: number, codePoint: number): number {
  if (codePoint < 0x80) {
    bytes[at] = codePoint;
    return at + 1;
  }
  const last = CONTINUATION | (codePoint & LOW_BITS);
  if (codePoint < 0x800) {
    bytes[at] = TWO_BYTES | (codePoint >> 6);
    bytes[at + 1] = last;
    return at + 2;
  }
  const secondLast = CONTINUATION | ((codePoint >> 6) & LOW_BITS);
  if (codePoint < 0x10000) {
    bytes[at] = THREE_BYTES | (codePoint >> 12);
    bytes[at + 1] = secondLast;
    bytes[at + 2] = last;
    return at + 3;
  }
  bytes[at] = FOUR_BYTES | (codePoint >> 18);
  bytes[at + 1] = CONTINUATION | ((codePoint >> 12) & LOW_BITS);
  bytes[at + 2] = secondLast;
  bytes[at + 3] = last;
  return at + 4;
}
