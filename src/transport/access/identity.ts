/** Bound of an identity in UTF-8 bytes. */
export const MAX_IDENTITY_BYTES = 256;

/** Control characters, line separators, characters that reorder text, lone surrogates, and U+FFFD. */
const UNPRINTABLE = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufffd]|\p{Cs}/u;

/** Why a text cannot be an identity. Undefined: the text is an identity. */
export function identityProblem(identity: string): string | undefined {
  if (Buffer.byteLength(identity) > MAX_IDENTITY_BYTES) return `longer than ${MAX_IDENTITY_BYTES} bytes`;
  if (UNPRINTABLE.test(identity)) return 'has control characters';
  return undefined;
}
