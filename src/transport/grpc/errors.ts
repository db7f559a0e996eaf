import { randomUUID } from 'node:crypto';
import { Metadata, status } from '@grpc/grpc-js';
import { HoldfastError, StoreFailure, type Reason } from '../../engine/errors';
import { encodeStatusDetails, STATUS_DETAILS_TRAILER } from '../../wire/status-details';
import type { Log } from './log';

interface Outcome {
  readonly code: status;
  /** RetryInfo, where the engine knows no better delay; undefined: a retry helps only if the engine says so. */
  readonly retryAfterMs?: number;
  /** Says the delay in `grpc-retry-pushback-ms` too, which gRPC's own retries obey. */
  readonly pushback?: true;
}

/** The one table of what each reason is called in gRPC. */
const OUTCOMES: Readonly<Record<Reason, Outcome>> = {
  INVALID_FIELD: { code: status.INVALID_ARGUMENT },
  REQUEST_MISMATCH: { code: status.INVALID_ARGUMENT },
  CONTENDED: { code: status.ABORTED, retryAfterMs: 1000 },
  LEASE_LOST: { code: status.ABORTED },
  SUPERSEDED: { code: status.ABORTED },
  IMPORT_CONFLICT: { code: status.ABORTED },
  LEASE_NOT_HELD: { code: status.NOT_FOUND },
  NO_SUCH_SEMAPHORE: { code: status.NOT_FOUND },
  NO_SUCH_DICTIONARY: { code: status.NOT_FOUND },
  DICTIONARY_EXISTS: { code: status.ALREADY_EXISTS },
  LIMIT_MISMATCH: { code: status.FAILED_PRECONDITION },
  NEVER_FITS: { code: status.FAILED_PRECONDITION },
  REQUEST_FINISHED: { code: status.FAILED_PRECONDITION },
  SEMAPHORE_IN_USE: { code: status.FAILED_PRECONDITION },
  QUEUE_FULL: { code: status.RESOURCE_EXHAUSTED, retryAfterMs: 1000 },
  QUOTA_EXCEEDED: { code: status.RESOURCE_EXHAUSTED, retryAfterMs: 1000 },
  STORE_FULL: { code: status.RESOURCE_EXHAUSTED, retryAfterMs: 5000 },
  STORE_UNAVAILABLE: { code: status.UNAVAILABLE, retryAfterMs: 1000 },
  OUTCOME_UNKNOWN: { code: status.UNAVAILABLE },
  DRAINING: { code: status.UNAVAILABLE, retryAfterMs: 100, pushback: true },
  QUARANTINED: { code: status.UNAVAILABLE, retryAfterMs: 1000, pushback: true },
  REATTACH: { code: status.UNAVAILABLE, retryAfterMs: 0, pushback: true },
  NOT_IMPLEMENTED: { code: status.UNIMPLEMENTED },
  INTERNAL: { code: status.INTERNAL },
};

const DOMAIN = 'holdfast';
const REASON_TRAILER = 'holdfast-reason';
const PUSHBACK_TRAILER = 'grpc-retry-pushback-ms';
/** Of the message as it travels, percent-encoded: with the details' 5.5 kB of base64 less than 8 kB in all. */
const MAX_ENCODED_TEXT = 2000;

/** How a call ends: what grpc-js takes as a status. */
export interface CallStatus {
  code: status;
  details: string;
  metadata: Metadata;
}

/**
 * Whatever a handler threw, as the status that the client sees. Only what the engine meant for callers keeps
 * its text; a defect is logged whole, under an id that the answer names.
 */
export function toCallStatus(error: unknown, method: string, log: Log): CallStatus {
  return fromHoldfastError(toHoldfastError(error, method, log));
}

/** What a message within a stream says of what a call would have failed with. */
export interface ErrorWords {
  readonly code: status;
  readonly reason: Reason;
  readonly message: string;
}

/** As `toCallStatus`, for a stream that goes on. */
export function toErrorWords(error: unknown, method: string, log: Log): ErrorWords {
  const { reason, message } = toHoldfastError(error, method, log);
  return { code: OUTCOMES[reason].code, reason, message: errorText(message, reason) };
}

function toHoldfastError(error: unknown, method: string, log: Log): HoldfastError {
  if (error instanceof HoldfastError) return error;
  if (error instanceof StoreFailure) {
    // The engine turns these into its own errors, with more to say; one that slips through still tells no lie.
    log.warn({ err: error, method }, 'store failure reached the transport');
    return fromStoreFailure(error);
  }
  const errorId = randomUUID();
  log.error({ err: error, method, errorId }, 'call failed');
  return new HoldfastError('INTERNAL', `the server failed; its log says more under ${errorId}`, {
    metadata: { error_id: errorId },
  });
}

function fromStoreFailure(failure: StoreFailure): HoldfastError {
  if (failure.carriedOut === 'unknown') {
    return new HoldfastError('OUTCOME_UNKNOWN', 'the store did not answer; repeat the call to be sure');
  }
  if (failure.kind === 'quarantined') {
    const text = 'the store may have forgotten leases: nothing is granted until all of them have ended';
    return new HoldfastError('QUARANTINED', text, { retryAfterMs: failure.retryAfterMs ?? 0 });
  }
  if (failure.kind === 'full') return new HoldfastError('STORE_FULL', 'the store has no memory left');
  return new HoldfastError('STORE_UNAVAILABLE', 'the store cannot be reached; nothing was done');
}

function fromHoldfastError(error: HoldfastError): CallStatus {
  const { reason } = error;
  const { code, retryAfterMs: usualDelay, pushback } = OUTCOMES[reason];
  const text = errorText(error.message, reason);
  const retryAfterMs = error.details.retryAfterMs ?? usualDelay;
  const metadata = new Metadata();
  metadata.set(REASON_TRAILER, reason);
  if (pushback && retryAfterMs !== undefined) {
    metadata.set(PUSHBACK_TRAILER, String(Math.max(0, Math.ceil(retryAfterMs))));
  }
  const details = encodeStatusDetails({
    code,
    message: text,
    reason,
    domain: DOMAIN,
    metadata: new Map(Object.entries(error.details.metadata ?? {})),
    retryAfterMs,
    violations: error.details.violations ?? [],
  });
  metadata.set(STATUS_DETAILS_TRAILER, Buffer.from(details));
  return { code, details: text, metadata };
}

/**
 * The text with its reason at the end, fit for a trailer: no lone surrogate (grpc-js would throw), no control
 * character that a name of ours or a label of others could bring onto a terminal, and not too long.
 */
function errorText(message: string, reason: Reason): string {
  const ending = ` [${reason}]`;
  const clean = message.replace(/[\p{Cc}\p{Cs}]/gu, '\u{FFFD}');
  const room = MAX_ENCODED_TEXT - encodeURI(ending).length;
  if (encodeURI(clean).length <= room) return clean + ending;
  let kept = '';
  let length = encodeURI('…').length;
  for (const character of clean) {
    length += encodeURI(character).length;
    if (length > room) break;
    kept += character;
  }
  return `${kept}…${ending}`;
}
