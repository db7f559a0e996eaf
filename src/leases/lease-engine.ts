import type { ReadableNames } from '../base/readable-names';
import type { Call, StreamCall } from '../base/call';
import type { Lease, ResourceView, Service } from './lease';
import type { RemoveCommand, SetLimitCommand } from './lease-store';
import type {
  AcquireRequest,
  HoldSink,
  HoldStart,
  ListRequest,
  ReleaseResult,
  Renewal,
  ResourcePage,
  RevokeRequest,
  RevokeResult,
  WatchSink,
} from './lease-requests';

/**
 * The engine's interface for the transport, which has checked all fields. A rejection with another error than a
 * HoldfastError is a defect.
 */
export interface LeaseEngine {
  acquire(call: Call, service: Service, request: AcquireRequest): Promise<Lease>;
  renew(call: Call, service: Service, leaseId: string, renewal: Renewal): Promise<Lease>;
  release(call: Call, service: Service, leaseId: string): Promise<ReleaseResult>;
  hold(call: StreamCall, service: Service, start: HoldStart, sink: HoldSink): Promise<void>;
  inspect(call: Call, service: Service, name: string): Promise<ResourceView>;
  watch(call: Call, service: Service, name: string, sink: WatchSink): Promise<void>;
  /** Lists the names that the caller may read. Default: all names. */
  list(call: Call, service: Service, request: ListRequest, names?: ReadableNames): Promise<ResourcePage>;
  setLimit(name: string, command: SetLimitCommand): Promise<ResourceView>;
  remove(name: string, command: RemoveCommand): Promise<void>;
  revoke(call: Call, service: Service, request: RevokeRequest): Promise<RevokeResult>;
}
