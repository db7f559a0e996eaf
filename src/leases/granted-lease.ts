import type { Call } from '../base/call';
import type { Lease, Resource } from './lease';
import { encodeLeaseId } from './lease-id';
import type { Granted } from './lease-store';

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
