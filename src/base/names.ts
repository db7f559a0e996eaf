import { HoldfastError } from './errors';
import { hashId } from './text';

/** The longest name of a lock, semaphore, list or dictionary, in bytes of UTF-8. */
export const MAX_NAME_BYTES = 512;

/** The names that the caller of a list may read. The order of names is the order of their bytes in UTF-8. */
export interface ReadableNames {
  mayRead(name: string): boolean;
  /**
   * A place behind a name that the caller may not read. No readable name lies between the name and the place.
   * Undefined: no readable name follows. The result tells nothing about names in the store.
   */
  nextReadable(name: string): string | undefined;
}

export const EVERY_NAME: ReadableNames = { mayRead: () => true, nextReadable: (name) => name };

/**
 * The place before the first readable name with this prefix. Empty: the beginning. Undefined: no name with this prefix
 * is readable.
 */
export function firstPlace(names: ReadableNames, prefix: string): string | undefined {
  return names.mayRead(prefix) ? '' : placeAfter(names, prefix, prefix);
}

/**
 * The place at which a list continues after a name with this prefix. Undefined: no readable name with this prefix
 * follows. So a list passes over any number of names that its caller may not read.
 */
export function placeAfter(names: ReadableNames, prefix: string, name: string): string | undefined {
  if (names.mayRead(name)) return name;
  const place = names.nextReadable(name);
  return place?.startsWith(prefix) === true ? place : undefined;
}

/** The number of items on a page. */
export interface PageSizes {
  readonly defaultSize: number;
  readonly maxSize: number;
}

export const LIST_PAGES: PageSizes = { defaultSize: 50, maxSize: 500 };

/**
 * A page token contains the position at which a page ended, and a checksum that binds the token to its request. A token
 * of another request is refused. A token is not secret: a forged token gives access only to what the caller can also
 * query.
 */

/** Two hashes of 32 bits. A digest of node:crypto would cost a query 3 µs. */
const CHECKSUM_BYTES = 8;
const SEEDS = [1, 2] as const;

/** The parts of the request that a token belongs to. */
export type Binding = readonly (string | readonly string[])[];

export function encodePageToken(binding: Binding, position: unknown): string {
  return encoded(binding, JSON.stringify(position));
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
  const text = bytes.toString('utf8', CHECKSUM_BYTES);
  const genuine = bytes.length > CHECKSUM_BYTES && encoded(binding, text) === token;
  const position = genuine ? parsed(text) : undefined;
  if (!isPosition(position)) throw badPageToken();
  return position;
}

export function badPageToken(): HoldfastError {
  const description = 'does not belong to this request';
  return new HoldfastError('INVALID_FIELD', `page_token ${description}; start again without a page_token`, {
    violations: [{ field: 'page_token', description }],
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function encoded(binding: Binding, position: string): string {
  const bytes = Buffer.allocUnsafe(CHECKSUM_BYTES + Buffer.byteLength(position));
  bytes.write(position, CHECKSUM_BYTES);
  const hashed = Buffer.from(`${JSON.stringify(binding)} ${position}`);
  SEEDS.forEach((seed, index) => bytes.writeUInt32LE(hashId(hashed, 0, hashed.length, seed), 4 * index));
  return bytes.toString('base64url');
}
