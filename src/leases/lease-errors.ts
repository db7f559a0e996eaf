import { HoldfastError, StoreFailure } from '../base/errors';
import { grantsPaused, outcomeUnknown, translated } from '../base/store-state';
import { roundedTimeSpan, timeSpan } from '../base/text';
import type { HolderView, LossCause, Resource, Service } from './lease';
import type { QueueSnapshot } from './lease-store';

/** Every error of the engine of leases. Each text names the event, the affected name and the caller's next step. */

export function resourceText({ service, name }: Resource): string {
  return `${service} ${JSON.stringify(name)}`;
}

const MIN_RETRY_AFTER_MS = 100;
const MAX_RETRY_AFTER_MS = 5000;
/** The pause for a caller that may not learn when a lease ends. */
const DEFAULT_RETRY_AFTER_MS = 1000;

/**
 * `waitedMs` is 0 for a request that did not wait. `byAge`: the age limit ended the wait. `hidesHolders`: the caller may not
 * learn who holds the resource, nor until when.
 */
export function contended(
  resource: Resource,
  facts: QueueSnapshot,
  waitedMs: number,
  { byAge = false, hidesHolders = false } = {},
): HoldfastError {
  const snapshot = hidesHolders ? { ...facts, holder: undefined, holderEndMs: undefined } : facts;
  const { holder, holderEndMs = hidesHolders ? DEFAULT_RETRY_AFTER_MS : 0, waiterCount, limit } = snapshot;
  const state = resource.service === 'lock' ? lockState(snapshot, waitedMs) : semaphoreState(snapshot);
  const retryAfterMs = Math.min(Math.max(holderEndMs, MIN_RETRY_AFTER_MS), MAX_RETRY_AFTER_MS);
  return new HoldfastError('CONTENDED', `${resourceText(resource)} ${state}; ${advice(waitedMs, byAge)}`, {
    metadata: { holder_id: holder?.holderId ?? '', waiter_count: String(waiterCount) },
    // With a limit of 0 nothing is granted, not even after the end of the holder's lease.
    retryAfterMs: limit === 0 ? MAX_RETRY_AFTER_MS : retryAfterMs,
  });
}

function advice(waitedMs: number, byAge: boolean): string {
  if (waitedMs <= 0) return 'raise wait_timeout to queue';
  const next = byAge
    ? 'repeat the call with the same request_id to keep waiting'
    : 'raise wait_timeout to wait longer';
  return `not granted within ${roundedTimeSpan(waitedMs)}; ${next}`;
}

function lockState(snapshot: QueueSnapshot, waitedMs: number): string {
  const { holder, holderEndMs = 0, waiterCount, usedCount } = snapshot;
  const held = `is ${waitedMs > 0 ? 'still ' : ''}held`;
  if (holder) return `${held}${by(holder)} for ${roundedTimeSpan(holderEndMs)} more`;
  return usedCount > 0
    ? `${held}, with ${waiterCount} waiting`
    : `has no holder, but a queue of ${waiterCount}`;
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

/** `holder` is the holder with the lease that ends first. */
function takenBy(holder: HolderView, endMs: number, usedCount: number): string {
  const { permitCount } = holder;
  const some = permitCount < usedCount ? `, ${permitCount} of them` : '';
  return `${some}${by(holder)} for ${roundedTimeSpan(endMs)} more`;
}

function by({ holderId }: HolderView): string {
  return holderId === '' ? '' : ` by ${holderId}`;
}

const causeWords: Record<LossCause | 'released', string> = {
  expired: 'EXPIRED',
  revoked: 'REVOKED',
  'store-reset': 'STORE_RESET',
  'store-unavailable': 'STORE_UNAVAILABLE',
  released: 'RELEASED',
};

const causeTexts: Record<LossCause | 'released', string> = {
  expired: 'it was not renewed in time',
  revoked: 'it was revoked',
  'store-reset': 'the store has forgotten it',
  'store-unavailable': 'the store did not answer before its end',
  released: 'it was released',
};

export function leaseLost(resource: Resource, cause: LossCause): HoldfastError {
  return new HoldfastError(
    'LEASE_LOST',
    `the lease on ${resourceText(resource)} is lost: ${causeTexts[cause]}; stop the work that it protects`,
    { metadata: { cause: causeWords[cause] } },
  );
}

/** An operator has revoked a request that waited, or a lease that no client was told of. */
export function requestRevoked(resource: Resource): HoldfastError {
  return new HoldfastError(
    'LEASE_LOST',
    `an operator has revoked this request for ${resourceText(resource)}, which waits no longer and holds nothing; acquire again with a new request_id`,
    { metadata: { cause: causeWords.revoked } },
  );
}

export function leaseNotHeld(resource: Resource, cause: LossCause | 'released' | undefined): HoldfastError {
  const why = cause === undefined ? '' : `: ${causeTexts[cause]}`;
  return new HoldfastError(
    'LEASE_NOT_HELD',
    `the lease on ${resourceText(resource)} is not held${why}; acquire again with a new request_id`,
    cause === undefined ? {} : { metadata: { cause: causeWords[cause] } },
  );
}

export function invalidLeaseId(service: Service): HoldfastError {
  const description = `is not a lease_id that this service gave out for a ${service}`;
  return new HoldfastError('INVALID_FIELD', `lease_id ${description}`, {
    violations: [{ field: 'lease_id', description }],
  });
}

export function superseded(resource: Resource): HoldfastError {
  return new HoldfastError(
    'SUPERSEDED',
    `a newer call with the same request_id or lease_id has taken over ${resourceText(resource)}; use that call, nothing was lost`,
  );
}

export function requestFinished(resource: Resource, requestId: string): HoldfastError {
  return new HoldfastError(
    'REQUEST_FINISHED',
    `the lease of request ${requestId} on ${resourceText(resource)} has ended; acquire again with a new request_id`,
    { metadata: { request_id: requestId } },
  );
}

export function requestMismatch(resource: Resource, requestId: string, field: string): HoldfastError {
  return new HoldfastError(
    'REQUEST_MISMATCH',
    `request ${requestId} on ${resourceText(resource)} was made with another ${field}; use a new request_id`,
    { metadata: { field } },
  );
}

export function transportRetryWithoutId(resource: Resource): HoldfastError {
  return new HoldfastError(
    'REQUEST_MISMATCH',
    `gRPC retried this request for ${resourceText(resource)} without a request_id: the retry would wait behind the first try; set a request_id`,
  );
}

export function neverFits(resource: Resource, permits: number, limit: number): HoldfastError {
  return new HoldfastError(
    'NEVER_FITS',
    `${permits} permits never fit ${resourceText(resource)}: its limit is ${limit}; ask for fewer permits or raise the limit`,
    { metadata: { limit: String(limit), permit_count: String(permits) } },
  );
}

export function noSuchSemaphore(
  resource: Resource,
  advice = 'set its limit, or acquire with initial_limit',
): HoldfastError {
  return new HoldfastError('NO_SUCH_SEMAPHORE', `${resourceText(resource)} does not exist; ${advice}`);
}

export function limitMismatch(
  resource: Resource,
  limit: number,
  expectedLimit: number | undefined,
): HoldfastError {
  return new HoldfastError(
    'LIMIT_MISMATCH',
    `the limit of ${resourceText(resource)} is ${limit}, not ${expectedLimit}: nothing was changed; check the limit and try again`,
    { metadata: { limit: String(limit), expected_limit: String(expectedLimit) } },
  );
}

export function noKeptLimit(resource: Resource, isPause: boolean): HoldfastError {
  const [state, remedy] = isPause
    ? ['already has the limit 0, and no limit to keep', 'set a limit before the pause']
    : ['has the limit 0, and no kept limit to bring back', 'set a limit'];
  return new HoldfastError(
    'LIMIT_MISMATCH',
    `${resourceText(resource)} ${state}: nothing was changed; ${remedy}`,
    { metadata: { limit: '0' } },
  );
}

export function semaphoreInUse(
  resource: Resource,
  { holderCount, waiterCount }: { readonly holderCount: number; readonly waiterCount: number },
): HoldfastError {
  return new HoldfastError(
    'SEMAPHORE_IN_USE',
    `${resourceText(resource)} is in use (holders: ${holderCount}, waiters: ${waiterCount}): nothing was deleted; wait until it is unused, or set force`,
    { metadata: { holder_count: String(holderCount), waiter_count: String(waiterCount) } },
  );
}

export function queueFull(resource: Resource, waiterCount: number): HoldfastError {
  return new HoldfastError(
    'QUEUE_FULL',
    `the queue of ${resourceText(resource)} is full, with ${waiterCount} waiting; try again later`,
    { metadata: { waiter_count: String(waiterCount) } },
  );
}

export function tooManyWaiting(resource: Resource, maxCount: number): HoldfastError {
  return new HoldfastError(
    'QUOTA_EXCEEDED',
    `${resourceText(resource)} is not free, and the limit of ${maxCount} waiting calls on this connection is reached; use another connection, or ${resource.service === 'lock' ? 'HoldLock' : 'HoldPermits'}`,
  );
}

export function tooManyStreams(maxCount: number, kind: 'hold' | 'watch'): HoldfastError {
  return new HoldfastError(
    'QUOTA_EXCEEDED',
    `this server has reached its limit of ${maxCount} ${kind} streams; open the stream at another server`,
  );
}

export function draining(requestId?: string): HoldfastError {
  const how = requestId === undefined ? '' : ` with request_id ${requestId}`;
  return new HoldfastError('DRAINING', `this server is stopping; continue at another server${how}`, {
    ...(requestId !== undefined && { metadata: { request_id: requestId } }),
    retryAfterMs: 100,
  });
}

export function reattach(resource: Resource): HoldfastError {
  return new HoldfastError(
    'REATTACH',
    `this stream for ${resourceText(resource)} has reached its age limit; open the next stream, with the lease_id if the lease was granted, otherwise with the same request_id`,
    { retryAfterMs: 0 },
  );
}

export function watchAged(resource: Resource): HoldfastError {
  return new HoldfastError(
    'REATTACH',
    `this watch of ${resourceText(resource)} has reached its age limit; open the next watch`,
    { retryAfterMs: 0 },
  );
}

export function quarantined(resource: Resource, remainingMs: number): HoldfastError {
  return grantsPaused(resourceText(resource), remainingMs);
}

/**
 * How the caller repeats a failed command. 'read': the command changes nothing. 'request_id': an acquire. 'lease_id': a
 * renewal or a release. 'same call': a change of settings.
 */
export type Repeat = 'read' | 'request_id' | 'lease_id' | 'same call';

/** The caller's error for a store failure. Any other error is a defect and is returned unchanged. */
export function translateStoreFailure(
  error: unknown,
  resource: Resource,
  repeat: Repeat,
  requestId?: string,
): unknown {
  const subject = resourceText(resource);
  if (repeat === 'read') return translated(error, { subject });
  return translated(error, {
    subject,
    unknown: () => notAnswered(resource, repeat, requestId),
    whenFull: 'renewals and releases still work',
  });
}

/** The error of a list for a store failure. Any other error is a defect and is returned unchanged. */
export function translateListFailure(error: unknown, service: Service): unknown {
  return translated(error, { subject: `the list of ${service}s` });
}

/** Resolves to the result of a store command. Rejects with the caller's error. */
export function answerOf<T>(
  work: Promise<T>,
  resource: Resource,
  repeat: Repeat,
  requestId?: string,
): Promise<T> {
  return work.catch((error) => {
    throw translateStoreFailure(error, resource, repeat, requestId);
  });
}

/**
 * The caller's error for a failed withdrawal. An error of a quarantine means that the call keeps its place. After every
 * other failure the call may hold permits, so the error does not say that nothing was done.
 */
export function translateWithdrawFailure(error: unknown, resource: Resource, requestId: string): unknown {
  if (!(error instanceof StoreFailure)) return error;
  return error.kind === 'quarantined' && error.carriedOut === 'no'
    ? quarantined(resource, error.retryAfterMs ?? 0)
    : notAnswered(resource, 'request_id', requestId);
}

export function isQuarantined(error: unknown): boolean {
  return error instanceof HoldfastError && error.reason === 'QUARANTINED';
}

/** The error for a command that may have been carried out. */
export function notAnswered(
  resource: Resource,
  repeat: Exclude<Repeat, 'read'>,
  requestId?: string,
): HoldfastError {
  const how = {
    request_id: ` with request_id ${requestId}`,
    lease_id: ' with the same lease_id',
    'same call': '',
  };
  const effect = `the request for ${resourceText(resource)} may have been carried out`;
  return outcomeUnknown(effect, `repeat the call${how[repeat]}`, requestId);
}

/** The errors that only sessions have. */

export function sessionSilent(timeoutMs: number): HoldfastError {
  return new HoldfastError(
    'SESSION_SILENT',
    `no heartbeat has arrived for ${timeSpan(timeoutMs)}, or the client does not read; open the next session and attach to the leases, which continue to the ends of their ttl`,
  );
}

export function tooManyUnfinished(limit: number): HoldfastError {
  return quotaExceeded(
    limit,
    `this session has ${limit} commands without an end, the limit: nothing was done; cancel commands, or wait for their ends`,
  );
}

export function tooManyLeases(limit: number): HoldfastError {
  return quotaExceeded(
    limit,
    `this session has ${limit} leases, the limit: nothing was done; release leases, or open a second session with another client_id`,
  );
}

export function tooManySessions(limit: number): HoldfastError {
  return quotaExceeded(
    limit,
    `this server has ${limit} sessions, the limit: nothing was done; try another server, or put the leases of a process into one session`,
  );
}

export function tooManyCommands(limit: number): HoldfastError {
  return quotaExceeded(
    limit,
    `a message of a session has more than ${limit} commands, the limit; open the next session, and send several messages`,
  );
}

export function tooManyRefusals(): HoldfastError {
  return new HoldfastError(
    'QUOTA_EXCEEDED',
    'the client has left a thousand refusals of this session unread; open the next session, and read its messages',
  );
}

export function notInSession(leaseNumber: number): HoldfastError {
  return new HoldfastError(
    'LEASE_NOT_HELD',
    `lease_number ${leaseNumber} names no lease of this session; use the lease_id`,
  );
}

export function sessionDraining(): HoldfastError {
  return new HoldfastError(
    'DRAINING',
    'this server is stopping; open the next session at another server, and attach to the leases',
    { retryAfterMs: 0 },
  );
}

export function sessionTooOld(): HoldfastError {
  return new HoldfastError(
    'REATTACH',
    'the connection of this session has reached its maximum age; open the next session on a new connection, and attach to the leases',
  );
}

function quotaExceeded(limit: number, message: string): HoldfastError {
  return new HoldfastError('QUOTA_EXCEEDED', message, { metadata: { limit: String(limit) } });
}
