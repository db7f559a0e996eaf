import { MAX_LEASE_ID_CHARS } from './limits';
import type { Resource, Service } from './lease';

/**
 * A lease id says all that is needed to find and to prove a lease:
 *
 *     version (1 byte) · service (1) · request id (16) · secret (16) · name (UTF-8)      as base64url
 *
 * The secret is 128 random bits made by the server: knowing it is the authority to renew and release.
 */
export interface LeaseId {
  readonly resource: Resource;
  readonly requestId: string;
  /** 22 characters of base64url. */
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

/** Undefined for anything that this service never gave out. */
export function decodeLeaseId(service: Service, text: string): LeaseId | undefined {
  if (text.length > MAX_LEASE_ID_CHARS) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length <= NAME_OFFSET || bytes[0] !== VERSION || services[bytes[1] as number] !== service) {
    return undefined;
  }
  const hex = bytes.toString('hex', 2, 18);
  const id = {
    resource: { service, name: bytes.toString('utf8', NAME_OFFSET) },
    requestId: `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`,
    secret: bytes.toString('base64url', 18, NAME_OFFSET),
  };
  // One lease has one id: no second spelling, no name that is not UTF-8.
  return encodeLeaseId(id) === text ? id : undefined;
}
