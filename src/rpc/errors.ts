import { randomUUID } from 'node:crypto';
import { Metadata, type status } from '@grpc/grpc-js';
import { HoldfastError, StoreFailure, type FieldViolation, type Reason } from '../base/errors';
import {
  grantsPaused,
  outcomeUnknown,
  storeFull,
  storeOverloaded,
  storeUnavailable,
  unconfirmed,
} from '../base/store-errors';
import { encodeStatusDetails, STATUS_DETAILS_TRAILER } from './status-details';
import { ERROR_TABLE } from './error-table';
import type { Log } from '../base/log';

const DOMAIN = 'holdfast';
export const REASON_TRAILER = 'holdfast-reason';
const PUSHBACK_TRAILER = 'grpc-retry-pushback-ms';
/** Bound of the percent-encoded message. With 5.5 kB of details in base64, all trailers stay below 8 KiB. */
const MAX_ENCODED_TEXT_BYTES = 2000;
/** Printable ASCII characters. */
const PLAIN = /^[ -~]*$/;

/** The fields of a log line that say who called. Read only for a line. */
export type LoggedCaller = () => object;

/** The status of a failed call, in the shape that grpc-js takes. */
export interface CallStatus {
  code: status;
  details: string;
  metadata: Metadata;
}

/**
 * Translates a value that a handler threw into the client's status. Only a HoldfastError keeps its text. Any other
 * value is a defect: the log contains the whole error, and the answer contains only the id of the log line.
 */
export function toCallStatus(
  error: unknown,
  method: string,
  log: Log,
  caller: LoggedCaller = () => ({}),
): CallStatus {
  return statusOf(toHoldfastError(error, method, log, caller));
}

/** An error that a stream reports in a message. The stream then continues. */
export interface ErrorSummary {
  readonly code: status;
  readonly reason: Reason;
  readonly message: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly violations: readonly FieldViolation[];
  /** The pause before the caller's next try (ms). Undefined: a retry does not help. */
  readonly retryAfterMs: number | undefined;
}

/** Makes the parts of an error that a stream sends as a message, because the stream continues. */
export function toErrorSummary(error: unknown, method: string, log: Log, caller: LoggedCaller): ErrorSummary {
  return summaryOf(toHoldfastError(error, method, log, caller));
}

function summaryOf(error: HoldfastError): ErrorSummary {
  const { reason, message, details } = error;
  const { code, retryAfterMs: usualDelay } = ERROR_TABLE[reason];
  const delay = details.retryAfterMs ?? usualDelay;
  return {
    code,
    reason,
    message: errorText(message, reason),
    metadata: details.metadata ?? {},
    violations: details.violations ?? [],
    retryAfterMs: delay === 'never' ? undefined : delay,
  };
}

function toHoldfastError(error: unknown, method: string, log: Log, caller: LoggedCaller): HoldfastError {
  if (error instanceof HoldfastError) return error;
  if (error instanceof StoreFailure) {
    // The engine should have translated this error, because the engine knows the resource's name.
    log.warn({ err: error, method }, 'store failure reached the transport');
    return fromStoreFailure(error);
  }
  const errorId = randomUUID();
  log.error({ err: error, method, errorId, ...caller() }, 'call failed');
  return new HoldfastError('INTERNAL', `the server failed; search its log for ${errorId}`, {
    metadata: { error_id: errorId },
  });
}

function fromStoreFailure({ carriedOut, kind, retryAfterMs }: StoreFailure): HoldfastError {
  if (kind === 'unconfirmed') return unconfirmed('this call');
  if (carriedOut === 'unknown')
    return outcomeUnknown('the call may have been carried out', 'repeat the call');
  if (kind === 'quarantined') return grantsPaused('all names', retryAfterMs ?? 0);
  if (kind === 'overloaded') return storeOverloaded();
  if (kind === 'full') return storeFull('nothing was done', 'try again when the store has room');
  return storeUnavailable();
}

/** The status of a call that fails with this error. */
export function statusOf(error: HoldfastError): CallStatus {
  const { code, reason, message, metadata: facts, violations, retryAfterMs } = summaryOf(error);
  const metadata = new Metadata();
  metadata.set(REASON_TRAILER, reason);
  if (ERROR_TABLE[reason].pushback && retryAfterMs !== undefined) {
    metadata.set(PUSHBACK_TRAILER, String(Math.max(0, Math.ceil(retryAfterMs))));
  }
  const details = encodeStatusDetails({
    code,
    message,
    reason,
    domain: DOMAIN,
    metadata: new Map(Object.entries(facts)),
    retryAfterMs,
    violations,
  });
  metadata.set(STATUS_DETAILS_TRAILER, details);
  return { code, details: message, metadata };
}

/**
 * Makes a text that fits into a trailer and ends with the reason. Lone surrogates are replaced, because grpc-js throws
 * on them. Control characters are replaced, because a caller's label must not control the terminal of a reader.
 */
function errorText(message: string, reason: Reason): string {
  const ending = ` [${reason}]`;
  // Most texts need no change. A percent-encoded character has three bytes.
  if (3 * (message.length + ending.length) <= MAX_ENCODED_TEXT_BYTES && PLAIN.test(message))
    return message + ending;
  const clean = message.replace(/[\p{Cc}\p{Cs}]/gu, '\u{FFFD}');
  const room = MAX_ENCODED_TEXT_BYTES - encodeURI(ending).length;
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
