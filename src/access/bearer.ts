import { sha256 } from '../base/sha256';
import { malformedCredential } from './credential-errors';

/** Bound of a bearer token in bytes. */
export const MAX_TOKEN_BYTES = 8192;

/** The characters of a token by RFC 6750. */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/** The token of the metadata `authorization`. Undefined: the call has none. Throws BAD_CREDENTIAL. */
export function readBearer(values: readonly string[]): string | undefined {
  const [value, ...others] = values;
  if (value === undefined) return undefined;
  if (others.length > 0) throw malformedCredential('the metadata authorization has several values');
  if (value.length > MAX_TOKEN_BYTES + 'Bearer '.length) {
    throw malformedCredential(`the metadata authorization has ${value.length} bytes`);
  }
  const token = BEARER.exec(value)?.[1];
  if (token === undefined) throw malformedCredential('the metadata authorization is not "Bearer <token>"');
  return token;
}

/** SHA-256 of a token in hexadecimal. Tokens are kept and looked up by this digest only. */
export const tokenDigest = sha256;
