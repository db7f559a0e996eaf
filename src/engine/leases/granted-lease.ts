import type { Call } from '../call';
import { expireOffsetMs } from './expire-offset';
import type { Lease, Resource } from './lease';
import { encodeLeaseId } from './lease-id';
import type { Granted } from './permits-store';

/** The lease of a grant or a renewal, with its offset counted from the receipt of `call`. */
export function grantedLease(call: Call, resource: Resource, requestId: string, granted: Granted): Lease {
  return {
    leaseId: encodeLeaseId({ resource, requestId, secret: granted.secret }),
    name: resource.name,
    requestId,
    fencingToken: granted.fencingToken,
    permitCount: resource.service === 'lock' ? 1 : granted.permits,
    ttlMs: granted.ttlMs,
    expireOffsetMs: expireOffsetMs(call.receivedAt, granted.sentAt, granted.remainingMs),
  };
}
