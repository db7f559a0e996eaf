import { createHash } from 'node:crypto';
import { badPageToken } from './autocomplete-errors';

/**
 * Page tokens: where a page ended, bound to what was asked, so that a token of another request is found out. They are
 * opaque, but no secret: whoever makes one up sees nothing that a query would not show.
 */

const CHECK_BYTES = 9;

/** What a token belongs to, in the order that its maker chose. */
export type Binding = readonly (string | readonly string[])[];

export function encodePageToken(binding: Binding, position: unknown): string {
  const text = Buffer.from(JSON.stringify(position));
  return Buffer.concat([checkOf(binding, text), text]).toString('base64url');
}

/** More than the longest text, name and id need. */
const MAX_TOKEN_CHARS = 16_384;

/** The position that `encodePageToken` was given; undefined for no token. Throws INVALID_FIELD. */
export function decodePageToken<T>(
  binding: Binding,
  token: string,
  isPosition: (value: unknown) => value is T,
): T | undefined {
  if (token === '') return undefined;
  if (token.length > MAX_TOKEN_CHARS) throw badPageToken();
  const bytes = Buffer.from(token, 'base64url');
  const text = bytes.subarray(CHECK_BYTES);
  const genuine =
    bytes.toString('base64url') === token && checkOf(binding, text).equals(bytes.subarray(0, CHECK_BYTES));
  const position = genuine ? parsed(text.toString()) : undefined;
  if (!isPosition(position)) throw badPageToken();
  return position;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function checkOf(binding: Binding, position: Buffer): Buffer {
  const hash = createHash('sha256')
    .update(`holdfast page token 1 ${JSON.stringify(binding)} `)
    .update(position);
  return hash.digest().subarray(0, CHECK_BYTES);
}
