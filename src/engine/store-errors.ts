import { HoldfastError } from './errors';

/** The errors that both services make of a `StoreFailure`. */

export function storeUnavailable(subject: string): HoldfastError {
  return new HoldfastError(
    'STORE_UNAVAILABLE',
    `the store does not take commands: nothing was done for ${subject}; try again`,
    { retryAfterMs: 1000 },
  );
}

/** `effect` says what was done, `advice` what to do. */
export function storeFull(effect: string, advice: string): HoldfastError {
  return new HoldfastError('STORE_FULL', `the store is out of memory: ${effect}; ${advice}`, {
    retryAfterMs: 5000,
  });
}

/** `effect` says what may have been done, `advice` what to do. */
export function outcomeUnknown(effect: string, advice: string, requestId?: string): HoldfastError {
  return new HoldfastError('OUTCOME_UNKNOWN', `the store did not answer: ${effect}; ${advice}`, {
    ...(requestId !== undefined && { metadata: { request_id: requestId } }),
    retryAfterMs: 200,
  });
}
