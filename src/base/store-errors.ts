import { HoldfastError } from './errors';
import { roundedTimeSpan } from './time-span';

/** The errors for a `StoreFailure`. Leases, autocomplete and the transport share these texts. */

/** `subject`: the affected name. Undefined: the call names no resource. */
export function storeUnavailable(subject?: string): HoldfastError {
  const effect = subject === undefined ? 'nothing was done' : `nothing was done for ${subject}`;
  return new HoldfastError('STORE_UNAVAILABLE', `the store does not take commands: ${effect}; try again`);
}

export function storeOverloaded(subject?: string): HoldfastError {
  const effect = subject === undefined ? 'nothing was done' : `nothing was done for ${subject}`;
  return new HoldfastError(
    'OVERLOADED',
    `the store has too much work to answer in time: ${effect}; try again later, with fewer calls at a time`,
  );
}

export function grantsPaused(subject: string, remainingMs: number): HoldfastError {
  return new HoldfastError(
    'QUARANTINED',
    `grants of ${subject} are paused for ${roundedTimeSpan(remainingMs)} more, because the store may have forgotten leases; try again after this time (renewals and releases still work)`,
    { retryAfterMs: remainingMs },
  );
}

/** `effect`: the part of the work that was done. `advice`: the caller's next step. */
export function storeFull(effect: string, advice: string): HoldfastError {
  return new HoldfastError('STORE_FULL', `the store is out of memory: ${effect}; ${advice}`);
}

/** The error for a change that the master of the store has, and that the replicas may not have. */
export function unconfirmed(subject: string): HoldfastError {
  return new HoldfastError(
    'OUTCOME_UNKNOWN',
    `the store has carried out the request for ${subject}, but its replicas have not confirmed the change: a failover of the store may undo the change; repeat the call`,
  );
}

/** `effect`: the work that may have been done. `advice`: the caller's next step. */
export function outcomeUnknown(effect: string, advice: string, requestId?: string): HoldfastError {
  return new HoldfastError('OUTCOME_UNKNOWN', `the store did not answer: ${effect}; ${advice}`, {
    metadata: requestId === undefined ? {} : { request_id: requestId },
  });
}
