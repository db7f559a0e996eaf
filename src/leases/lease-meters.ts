import type { Call } from '../base/call';
import { Distribution } from '../base/meters';
import type { CountedLoss, Service } from './lease';

/** Bounds of the times to a grant: from an immediate grant to a long wait (ms). */
const GRANT_BOUNDS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000];
/** Bounds of the times of holding: from a short critical section to a leader (ms). */
const HOLD_BOUNDS = [10, 100, 500, 1000, 5000, 15_000, 60_000, 300_000, 1_800_000, 7_200_000, 86_400_000];
/** Bounds of the remaining times at a renewal: from a lease that was nearly lost to a lease with a long ttl (ms). */
const SLACK_BOUNDS = [100, 250, 500, 1000, 2000, 5000, 10_000, 20_000, 40_000, 80_000];

/** What happened to the leases of one service on this server, as plain numbers since the start of the process. */
export class ServiceMeters {
  /** The leases that streams and sessions of this server hold now. */
  heldCount = 0;
  /** The grants to callers that had waited in the queue. */
  handOverCount = 0;
  /** The acquires that ended with CONTENDED. */
  contendedCount = 0;
  /** The leases and waits that callers of this server have revoked. */
  revokedCount = 0;
  /** The reports of failed renewals to holders. */
  failedRenewalCount = 0;
  /** The leases that streams and sessions of this server have lost. */
  readonly lost: Record<CountedLoss, number> = {
    'client-silent': 0,
    expired: 0,
    revoked: 0,
    'store-reset': 0,
    'store-unavailable': 0,
  };
  /** From the arrival of the request to its grant (ms). */
  readonly grantMs = new Distribution(GRANT_BOUNDS);
  /** From the grant to a stream or session, or its attachment, to the release or the loss of the lease (ms). */
  readonly holdMs = new Distribution(HOLD_BOUNDS);
  /** The time that a lease of a stream or session still had when the answer to its renewal came (ms). */
  readonly slackMs = new Distribution(SLACK_BOUNDS);
}

export class LeaseMeters {
  readonly lock = new ServiceMeters();
  readonly semaphore = new ServiceMeters();
}

/** The call that has brought a lease, or the stream of its session. */
export type ObservedCall = Pick<Call, 'traceparent'>;

/** Called for the leases that streams and sessions hold. Must not throw. */
export interface LeaseObserver {
  /** @param receivedAt the arrival of the request (ms, monotonic), so that a wait in the queue counts */
  granted(call: ObservedCall, service: Service, receivedAt: number): void;
  released(call: ObservedCall, service: Service): void;
  lost(call: ObservedCall, service: Service, cause: CountedLoss): void;
}
