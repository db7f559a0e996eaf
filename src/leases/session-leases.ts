import type { Call } from '../base/call';
import type { Service } from './lease';
import type { LeaseId } from './lease-id';
import type { HoldStart, LeaseOwner, ReleaseResult, Renewal } from './lease-requests';

/** The engine of leases, as sessions use it. */
export interface SessionLeases {
  take(call: Call, service: Service, start: HoldStart, owner: LeaseOwner): Promise<void>;
  releaseLease(call: Call, id: LeaseId): Promise<ReleaseResult>;
  renewLease(call: Call, id: LeaseId, renewal: Renewal): Promise<unknown>;
}
