import type { Call } from '../base/call';
import type { CountedLoss, Service } from './lease';

/** The call that has brought a lease, or the stream of its session. */
export type ObservedCall = Pick<Call, 'traceparent'>;

/** Called for the leases that streams and sessions hold. Must not throw. */
export interface LeaseObserver {
  /** @param receivedAt the arrival of the request (ms, monotonic), so that a wait in the queue counts */
  granted(call: ObservedCall, service: Service, receivedAt: number): void;
  released(call: ObservedCall, service: Service): void;
  lost(call: ObservedCall, service: Service, cause: CountedLoss): void;
}
