import { HoldfastError, StoreFailure, type ErrorDetails } from '../errors';
import type { HolderView, LossCause, Resource } from './lease';
import type { QueueSnapshot } from './permits-store';

/** What went wrong, said to a person: what happened, to which name, and what to do. */

export function described({ service, name }: Resource): string {
  return `${service} ${JSON.stringify(name)}`;
}

/** 400 ms, 4.8 s, 21 s, 12 min. */
export function span(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 600_000) return `${Math.round(ms / 1000)} s`;
  return `${Math.round(ms / 60_000)} min`;
}

const MAX_RETRY_AFTER_MS = 5000;

/** `aged`: the wait ended by its age, not by what the request allowed. */
export function contended(
  resource: Resource,
  snapshot: QueueSnapshot,
  waitedMs: number,
  aged = false,
): HoldfastError {
  const { holder, holderEndMs = 0, waiterCount, limit } = snapshot;
  const state = resource.service === 'lock' ? lockState(snapshot, waitedMs) : semaphoreState(snapshot);
  const advice =
    waitedMs > 0
      ? `gave up after ${span(waitedMs)}; ${aged ? 'ask again with the same request_id to go on waiting' : 'raise wait_timeout to queue longer'}`
      : 'raise wait_timeout to queue';
  return new HoldfastError('CONTENDED', `${described(resource)} ${state}; ${advice}`, {
    metadata: { holder_id: holder?.holderId ?? '', waiter_count: String(waiterCount) },
    // No lease's end ends a pause.
    retryAfterMs: limit === 0 ? MAX_RETRY_AFTER_MS : Math.min(Math.max(holderEndMs, 100), MAX_RETRY_AFTER_MS),
  });
}

function lockState({ holder, holderEndMs = 0, waiterCount }: QueueSnapshot, waitedMs: number): string {
  if (!holder) return `is wanted by ${waiterCount} who came first`;
  return `${waitedMs > 0 ? 'is still held' : 'is held'}${by(holder)} for ${span(holderEndMs)} more`;
}

function semaphoreState({
  holder,
  holderEndMs = 0,
  waiterCount,
  limit = 0,
  usedCount,
}: QueueSnapshot): string {
  const waiting = waiterCount > 0 ? `, with ${waiterCount} waiting` : '';
  if (limit === 0) return `is paused by its limit of 0${waiting}`;
  const over = usedCount > limit;
  const taken = `has ${usedCount} ${over ? '' : `of ${limit} `}permits taken`;
  return `${taken}${holder ? takenBy(holder, holderEndMs, usedCount) : ''}${over ? `, over its limit of ${limit}` : ''}${waiting}`;
}

/** Of several holders the one whose permits come back first. */
function takenBy(holder: HolderView, endMs: number, usedCount: number): string {
  const { permitCount } = holder;
  const some = permitCount < usedCount ? `, ${permitCount} of them` : '';
  return `${some}${by(holder)} for ${span(endMs)} more`;
}

function by({ holderId }: HolderView): string {
  return holderId === '' ? '' : ` by ${holderId}`;
}

const causeWords: Record<LossCause, string> = {
  expired: 'EXPIRED',
  revoked: 'REVOKED',
  'store-reset': 'STORE_RESET',
  'store-unavailable': 'STORE_UNAVAILABLE',
};

const causeTexts: Record<LossCause, string> = {
  expired: 'it was not renewed in time',
  revoked: 'it was revoked',
  'store-reset': 'the store has forgotten it',
  'store-unavailable': 'the store did not answer until its end',
};

export function leaseLost(resource: Resource, cause: LossCause): HoldfastError {
  const text = `the lease on ${described(resource)} is lost: ${causeTexts[cause]}; stop what it protects`;
  return new HoldfastError('LEASE_LOST', text, { metadata: { cause: causeWords[cause] } });
}

export function leaseNotHeld(resource: Resource, cause: LossCause | 'released' | undefined): HoldfastError {
  const why = cause === undefined ? '' : `: ${cause === 'released' ? 'it was released' : causeTexts[cause]}`;
  const metadata: ErrorDetails =
    cause === undefined ? {} : { metadata: { cause: cause === 'released' ? 'RELEASED' : causeWords[cause] } };
  return new HoldfastError(
    'LEASE_NOT_HELD',
    `the lease on ${described(resource)} is not held${why}; acquire again with a new request_id`,
    metadata,
  );
}

export function superseded(resource: Resource): HoldfastError {
  return new HoldfastError(
    'SUPERSEDED',
    `another call with the same request took over on ${described(resource)}; nothing was lost, use that one`,
  );
}

export function requestFinished(resource: Resource, requestId: string): HoldfastError {
  return new HoldfastError(
    'REQUEST_FINISHED',
    `the lease of request ${requestId} on ${described(resource)} has ended; acquire again with a new request_id`,
    { metadata: { request_id: requestId } },
  );
}

export function neverFits(resource: Resource, permits: number, limit: number): HoldfastError {
  return new HoldfastError(
    'NEVER_FITS',
    `${permits} permits never fit ${described(resource)}, whose limit is ${limit}; ask for fewer or raise the limit`,
    { metadata: { limit: String(limit), permit_count: String(permits) } },
  );
}

export function noSuchSemaphore(
  resource: Resource,
  advice = 'set its limit, or give initial_limit',
): HoldfastError {
  return new HoldfastError('NO_SUCH_SEMAPHORE', `${described(resource)} does not exist; ${advice}`);
}

export function limitMismatch(
  resource: Resource,
  limit: number,
  expectedLimit: number | undefined,
): HoldfastError {
  return new HoldfastError(
    'LIMIT_MISMATCH',
    `the limit of ${described(resource)} is ${limit}, not ${expectedLimit}: nothing was changed; look at it and decide again`,
    { metadata: { limit: String(limit), expected_limit: String(expectedLimit) } },
  );
}

export function semaphoreInUse(
  resource: Resource,
  { holderCount, waiterCount }: { readonly holderCount: number; readonly waiterCount: number },
): HoldfastError {
  return new HoldfastError(
    'SEMAPHORE_IN_USE',
    `${described(resource)} is in use, held by ${holderCount} and waited for by ${waiterCount}: nothing was deleted; wait for them, or set force`,
    { metadata: { holder_count: String(holderCount), waiter_count: String(waiterCount) } },
  );
}

export function requestMismatch(resource: Resource, requestId: string, field: string): HoldfastError {
  return new HoldfastError(
    'REQUEST_MISMATCH',
    `request ${requestId} on ${described(resource)} was made with another ${field}; use a new request_id`,
    { metadata: { field } },
  );
}

export function queueFull(resource: Resource, waiterCount: number): HoldfastError {
  return new HoldfastError(
    'QUEUE_FULL',
    `${waiterCount} already wait for ${described(resource)}, which is the most; try again later`,
    { metadata: { waiter_count: String(waiterCount) }, retryAfterMs: 1000 },
  );
}

export function tooManyWaiting(resource: Resource, most: number): HoldfastError {
  return new HoldfastError(
    'QUOTA_EXCEEDED',
    `${described(resource)} is not free, and ${most} calls of this connection wait already; use another connection, or ${resource.service === 'lock' ? 'HoldLock' : 'HoldPermits'}`,
    { retryAfterMs: 1000 },
  );
}

export function tooManyStreams(count: number): HoldfastError {
  return new HoldfastError(
    'QUOTA_EXCEEDED',
    `${count} hold streams are open at this server, which is the most; hold the lease at another one`,
    { retryAfterMs: 1000 },
  );
}

export function draining(requestId?: string): HoldfastError {
  const how = requestId === undefined ? '' : `, with request_id ${requestId}`;
  return new HoldfastError('DRAINING', `this server is stopping; go on at another one${how}`, {
    ...(requestId !== undefined && { metadata: { request_id: requestId } }),
    retryAfterMs: 100,
  });
}

export function reattach(resource: Resource): HoldfastError {
  return new HoldfastError(
    'REATTACH',
    `this stream for ${described(resource)} has reached its age; open the next one, with the lease_id once it was granted, else with the same request_id`,
    { retryAfterMs: 0 },
  );
}

/**
 * What a failed call is repeated by: an acquire by its request_id, a renewal or a release by the lease_id that
 * its caller has. Without a request id it is one that can just be repeated.
 */
export type RepeatedBy = 'request_id' | 'lease_id';

/** A store failure, said as the caller may rely on it. Anything else is passed on as the defect it is. */
export function storeFailed(
  error: unknown,
  resource: Resource,
  requestId: string | undefined,
  by: RepeatedBy = 'request_id',
): unknown {
  if (!(error instanceof StoreFailure)) return error;
  if (error.carriedOut === 'unknown') return outcomeUnknown(resource, requestId, by);
  if (error.kind === 'quarantined') return quarantined(resource, error.retryAfterMs ?? 0);
  if (error.kind === 'unavailable') return notCarriedOut(resource);
  return new HoldfastError(
    'STORE_FULL',
    `the store is out of memory: nothing was done for ${described(resource)}; renewals and releases still work`,
    { retryAfterMs: 5000 },
  );
}

export function notCarriedOut(resource: Resource): HoldfastError {
  return new HoldfastError(
    'STORE_UNAVAILABLE',
    `the store does not take commands: nothing was done for ${described(resource)}; try again`,
    { retryAfterMs: 1000 },
  );
}

export function quarantined(resource: Resource, forMs: number): HoldfastError {
  return new HoldfastError(
    'QUARANTINED',
    `nothing is granted of ${described(resource)} for ${span(forMs)} more: the store may have forgotten leases, and all that may be believed have to end first; try again then, renewing and releasing work`,
    { retryAfterMs: forMs },
  );
}

/** Granted, but too late to be of use, and given back. */
export function answeredTooLate(resource: Resource): HoldfastError {
  return new HoldfastError(
    'STORE_UNAVAILABLE',
    `the store answered too late for the ttl: nothing is held of ${described(resource)}; try again`,
    { retryAfterMs: 1000 },
  );
}

export function outcomeUnknown(
  resource: Resource,
  requestId: string | undefined,
  by: RepeatedBy = 'request_id',
): HoldfastError {
  const how =
    requestId === undefined
      ? 'repeat it'
      : by === 'lease_id'
        ? 'repeat it with the same lease_id'
        : `retry with request_id ${requestId}`;
  return new HoldfastError(
    'OUTCOME_UNKNOWN',
    `the store did not answer: what was asked for ${described(resource)} may have been done; ${how}`,
    { ...(requestId !== undefined && { metadata: { request_id: requestId } }), retryAfterMs: 200 },
  );
}
