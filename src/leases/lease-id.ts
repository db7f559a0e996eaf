import { isUtf8 } from 'node:buffer';
import type { Call } from '../base/call';
import { sha256 } from '../base/text';
import { type Lease, MAX_LEASE_ID_CHARS, type Resource, type Service } from './lease';
import { invalidLeaseId } from './lease-errors';
import type { Granted } from './lease-store';

/**
 * A lease id names the lease's resource and request, and proves the right to renew and release the lease. Its bytes,
 * as base64url:
 *
 *     version (1 byte) · service (1) · request id (16) · secret (16) · name (UTF-8)
 *
 * The secret is 128 random bits. A caller that knows the secret may renew and release the lease, if the caller also has
 * the identity that acquired the lease. A lease without an identity needs only the secret.
 */
export interface LeaseId {
  readonly resource: Resource;
  /** The id under which the store keeps the request: see `storedRequestId`. */
  readonly requestId: string;
  /** The secret as 22 characters of base64url. */
  readonly secret: string;
}

const VERSION = 1;
const services: readonly Service[] = ['lock', 'semaphore'];
const NAME_OFFSET = 34;

export function encodeLeaseId({ resource, requestId, secret }: LeaseId): string {
  const nameBytes = Buffer.byteLength(resource.name);
  const bytes = Buffer.allocUnsafe(NAME_OFFSET + nameBytes);
  bytes[0] = VERSION;
  bytes[1] = services.indexOf(resource.service);
  bytes.write(requestId.replaceAll('-', ''), 2, 'hex');
  bytes.write(secret, 18, 'base64url');
  bytes.write(resource.name, NAME_OFFSET, 'utf8');
  return bytes.toString('base64url');
}

/** The usual text of a UUID, from its 32 hexadecimal digits. */
function uuidText(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The last decoded id. A server with a policy decodes each id twice in a row: for the check of its name, and for its use. */
let last: { readonly service: Service; readonly text: string; readonly id: LeaseId } | undefined;

/** Returns undefined if the text does not have the form of a lease id of this service. Does not check the secret. */
export function decodeLeaseId(service: Service, text: string): LeaseId | undefined {
  if (last?.text === text && last.service === service) return last.id;
  const id = decode(service, text);
  if (id !== undefined) last = { service, text, id };
  return id;
}

function decode(service: Service, text: string): LeaseId | undefined {
  if (text.length > MAX_LEASE_ID_CHARS) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length <= NAME_OFFSET || bytes[0] !== VERSION || services[bytes[1] as number] !== service) {
    return undefined;
  }
  const hex = bytes.toString('hex', 2, 18);
  // Only one text is valid for each lease. A comparison with an id that is encoded again from its parts would double
  // the time of this function.
  if (!isUtf8(bytes.subarray(NAME_OFFSET)) || bytes.toString('base64url') !== text) return undefined;
  return {
    resource: { service, name: bytes.toString('utf8', NAME_OFFSET) },
    requestId: uuidText(hex),
    secret: bytes.toString('base64url', 18, NAME_OFFSET),
  };
}

/** Decodes a lease id of any service. Undefined: the text does not have the form of a lease id. */
export function anyLeaseId(text: string): LeaseId | undefined {
  for (const service of services) {
    const id = decodeLeaseId(service, text);
    if (id !== undefined) return id;
  }
  return undefined;
}

/** Decodes a lease id. Throws INVALID_FIELD for any other text. */
export function parseLeaseId(service: Service, text: string): LeaseId {
  const id = decodeLeaseId(service, text);
  if (id === undefined) throw invalidLeaseId(service);
  return id;
}

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

/** The lease of a grant or a renewal. A caller with a `lease_id` gets the client's request id from the store. */
export function grantedLease(
  resource: Resource,
  {
    requestId,
    clientRequestId,
    leaseId,
  }: {
    readonly requestId: string;
    readonly clientRequestId?: string | undefined;
    /** The id that the caller has sent. The store has confirmed its secret. */
    readonly leaseId?: string | undefined;
  },
  granted: Granted,
): Lease {
  return {
    leaseId: leaseId ?? encodeLeaseId({ resource, requestId, secret: granted.secret }),
    name: resource.name,
    requestId: clientRequestId ?? granted.clientRequestId ?? requestId,
    fencingToken: granted.fencingToken,
    permitCount: resource.service === 'lock' ? 1 : granted.permits,
    ttlMs: granted.ttlMs,
    end: granted,
  };
}

/**
 * The client's request id of a lease, for errors without a reply of the store. Undefined: a `lease_id` of a caller with an
 * identity has only the stored id, which the client does not know.
 */
export function knownRequestId(call: Call, requestId: string): string | undefined {
  return call.identity === '' ? requestId : undefined;
}
