import type { Call } from '../call';
import type { Service } from '../leases/lease';
import type { HoldStart, LeaseOwner, ReleaseResult, Renewal } from '../leases/requests';

/** The engine of leases, as sessions use it. */
export interface LeaseEngine {
  take(call: Call, service: Service, start: HoldStart, owner: LeaseOwner): Promise<void>;
  release(call: Call, service: Service, leaseId: string): Promise<ReleaseResult>;
  renew(call: Call, service: Service, leaseId: string, renewal: Renewal): Promise<unknown>;
}
