import { HoldfastError } from './errors';

/** The errors for a `StoreFailure` that leases and autocomplete share. */

export function storeUnavailable(subject: string): HoldfastError {
  return new HoldfastError(
    'STORE_UNAVAILABLE',
    `the store does not take commands: nothing was done for ${subject}; try again`,
  );
}

/** `effect`: the part of the work that was done. `advice`: the caller's next step. */
export function storeFull(effect: string, advice: string): HoldfastError {
  return new HoldfastError('STORE_FULL', `the store is out of memory: ${effect}; ${advice}`);
}

/** `effect`: the work that may have been done. `advice`: the caller's next step. */
export function outcomeUnknown(effect: string, advice: string, requestId?: string): HoldfastError {
  return new HoldfastError('OUTCOME_UNKNOWN', `the store did not answer: ${effect}; ${advice}`, {
    metadata: requestId === undefined ? {} : { request_id: requestId },
  });
}
