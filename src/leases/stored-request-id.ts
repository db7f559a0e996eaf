import { sha256 } from '../base/sha256';
import { uuidText } from './lease-id';

/** A UUID has 128 bits, as 32 hexadecimal digits. */
const UUID_DIGITS = 32;

/**
 * The id under which the store keeps a request. Without an identity this is the client's request id. With an
 * identity, the stored id is a hash of the identity and the request id. So equal request ids of two identities are
 * two requests, and no client can find out the ids of others. The request id is in lower case. An identity has no
 * control characters, so the zero byte separates both parts.
 */
export function storedRequestId(identity: string, clientRequestId: string): string {
  if (identity === '') return clientRequestId;
  return uuidText(sha256(`${identity}\0${clientRequestId}`).slice(0, UUID_DIGITS));
}
