import { createHash } from 'node:crypto';
import { badPageToken } from './autocomplete-errors';

/**
 * A page token contains the position at which a page ended, and a checksum that binds the token to its request. A token
 * of another request is refused. A token is no secret: a forged token shows nothing that a query does not show.
 */

const CHECKSUM_BYTES = 9;

/** The parts of the request that a token belongs to. */
export type Binding = readonly (string | readonly string[])[];

export function encodePageToken(binding: Binding, position: unknown): string {
  const text = Buffer.from(JSON.stringify(position));
  return Buffer.concat([checksumOf(binding, text), text]).toString('base64url');
}

/** The bound of a received token. A token with the longest text and id, and with 1,000 claims, is shorter. */
const MAX_TOKEN_CHARS = 32_768;

/** Returns the token's position, or undefined for an empty token. Throws INVALID_FIELD for a foreign token. */
export function decodePageToken<T>(
  binding: Binding,
  token: string,
  isPosition: (value: unknown) => value is T,
): T | undefined {
  if (token === '') return undefined;
  if (token.length > MAX_TOKEN_CHARS) throw badPageToken();
  const bytes = Buffer.from(token, 'base64url');
  const text = bytes.subarray(CHECKSUM_BYTES);
  const genuine =
    bytes.toString('base64url') === token &&
    checksumOf(binding, text).equals(bytes.subarray(0, CHECKSUM_BYTES));
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

function checksumOf(binding: Binding, position: Buffer): Buffer {
  const hash = createHash('sha256')
    .update(`holdfast page token 1 ${JSON.stringify(binding)} `)
    .update(position);
  return hash.digest().subarray(0, CHECKSUM_BYTES);
}
