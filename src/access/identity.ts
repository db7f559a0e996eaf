/** Bound of an identity in UTF-8 bytes. */
export const MAX_IDENTITY_BYTES = 256;

/** Control characters, invisible characters, line separators, lone surrogates, and U+FFFD. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\p{Cs}\ufffd]/u;

/** Why a text cannot be an identity. Undefined: the text is an identity. */
export function identityProblem(identity: string): string | undefined {
  if (Buffer.byteLength(identity) > MAX_IDENTITY_BYTES) return `longer than ${MAX_IDENTITY_BYTES} bytes`;
  if (UNPRINTABLE.test(identity)) return 'has control characters or invisible characters';
  return undefined;
}
