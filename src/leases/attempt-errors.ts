import { HoldfastError } from '../base/errors';
import { roundedTimeSpan, timeSpan } from '../base/text';
import type { WaitEnd } from './allowance';
import type { Resource } from './lease';
import * as errors from './lease-errors';
import type { Life } from './life';
import type { AcquireReply, ClaimReply, Granted, LeaseWanted, QueueSnapshot, Waiting } from './lease-store';

/** What an acquire asks for, and who asks. */
export interface Asked {
  readonly life: Life;
  readonly resource: Resource;
  readonly wanted: LeaseWanted;
  readonly end: WaitEnd;
}

/** The cause of a withdrawal: a drain of the server, the end of the allowed time, or a command that the client has given up. */
export type WaitEnding = 'draining' | 'ended' | 'given-up';

/** The error for a reply that ends the acquire. */
export function refusal(
  { life, resource, wanted }: Asked,
  reply: Exclude<AcquireReply | ClaimReply, Granted | Waiting>,
): HoldfastError {
  switch (reply.kind) {
    case 'refused':
      return errors.contended(resource, reply.snapshot, 0, life.call);
    case 'mismatch':
      return errors.requestMismatch(resource, wanted.clientRequestId, reply.field);
    case 'queue-full':
      return errors.queueFull(resource, reply.waiterCount);
    case 'superseded':
      return errors.superseded(resource);
    case 'finished':
      return errors.requestFinished(resource, wanted.clientRequestId);
    case 'never-fits':
      return errors.neverFits(resource, wanted.permits, reply.limit);
    case 'unknown-resource':
      return errors.noSuchSemaphore(resource);
  }
}

interface WithdrawnWait {
  readonly snapshot: QueueSnapshot;
  readonly now: number;
  /** True: the call has given back a grant that came too late for its ttl. */
  readonly hasReturnedGrant: boolean;
}

/** The error for a wait that ended without a grant. The store has confirmed the withdrawal. */
export function notGranted(
  { life, resource, wanted, end }: Asked,
  ending: WaitEnding,
  { snapshot, now, hasReturnedGrant }: WithdrawnWait,
): HoldfastError {
  if (ending === 'draining') return errors.draining(wanted.clientRequestId);
  if (ending === 'given-up') return new WaitGivenUp();
  // The semaphore may have been deleted, or its limit lowered, just before the wait ended.
  if (resource.service === 'semaphore') {
    const { limit } = snapshot;
    if (limit === undefined) return errors.noSuchSemaphore(resource);
    if (limit > 0 && wanted.permits > limit) return errors.neverFits(resource, wanted.permits, limit);
  }
  if (life.holds && end.byAge) return errors.reattach(resource);
  const { receivedAt, hidesHolders } = life.call;
  const waitedMs = now - receivedAt;
  return hasReturnedGrant && snapshot.usedCount === 0
    ? grantedTooLate(resource, snapshot, wanted.ttlMs, waitedMs)
    : errors.contended(resource, snapshot, waitedMs, { byAge: end.byAge, hidesHolders });
}

/**
 * The error for a wait after its withdrawal has failed with `error`. In a quarantine the store keeps the place in the
 * queue, so the caller may continue the wait with another call. A client that has given up its command must not read
 * QUARANTINED as a confirmation that nothing is held: the store may keep an offer or a grant of the request.
 */
export function notWithdrawn(
  { life, resource, wanted, end }: Asked,
  ending: WaitEnding,
  error: unknown,
): unknown {
  if (!errors.isQuarantined(error)) return error;
  if (ending === 'given-up') return errors.notAnswered(resource, 'request_id', wanted.clientRequestId);
  if (ending === 'draining') return errors.draining(wanted.clientRequestId);
  return life.holds && end.byAge ? errors.reattach(resource) : error;
}

/** The error for a call that may only try once. The grant came after its offset had passed, and was given back. */
export function answeredTooLate(resource: Resource, ttlMs: number): HoldfastError {
  return new HoldfastError(
    'STORE_UNAVAILABLE',
    `the store granted ${errors.resourceText(resource)}, but answered too late for the ttl of ${timeSpan(ttlMs)}: nothing is held; try again, or with a longer ttl`,
  );
}

/**
 * The error for a wait that has ended. Its grants came too late and were given back. Nobody holds permits now.
 */
function grantedTooLate(
  resource: Resource,
  { waiterCount }: QueueSnapshot,
  ttlMs: number,
  waitedMs: number,
): HoldfastError {
  return new HoldfastError(
    'CONTENDED',
    `${errors.resourceText(resource)} was granted, but the store answered too late for the ttl of ${timeSpan(ttlMs)}; not granted in time within ${roundedTimeSpan(waitedMs)}; try again, or with a longer ttl`,
    { metadata: { holder_id: '', waiter_count: String(waiterCount) } },
  );
}

/**
 * A client of a session has given a wait up, and the store has confirmed its end. The client gets an event in place
 * of this error.
 */
export class WaitGivenUp extends HoldfastError {
  constructor() {
    super('OUTCOME_UNKNOWN', 'the command was cancelled, and holds nothing');
  }
}

/** The client never receives this error, because its call has ended. */
export function callCancelled(): HoldfastError {
  return new HoldfastError('OUTCOME_UNKNOWN', 'the call was cancelled');
}
