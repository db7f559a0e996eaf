import { randomUUID } from 'node:crypto';
import { constants, type OutgoingHttpHeaders } from 'node:http2';
import { Metadata, status } from '@grpc/grpc-js';
import type { Any } from '../../generated/typescript/google/protobuf/any';
import {
  BadRequest,
  type BadRequest_FieldViolation,
  ErrorInfo,
  RetryInfo,
} from '../../generated/typescript/google/rpc/error_details';
import { Status } from '../../generated/typescript/google/rpc/status';
import { type FieldViolation, HoldfastError, type Reason, StoreFailure } from '../base/errors';
import type { Log } from '../base/log';
import { outcomeUnknown, translated } from '../base/store-state';
import { msToDuration, serializer } from './wire';

const encodeStatus = serializer(Status);
const encodeErrorInfo = serializer(ErrorInfo);
const encodeRetryInfo = serializer(RetryInfo);
const encodeBadRequest = serializer(BadRequest);

/** The trailer that carries a serialized google.rpc.Status. */
export const STATUS_DETAILS_TRAILER = 'grpc-status-details-bin';
/** Clients in Python and Java refuse trailers above 8 KiB. The trailers hold these details (as base64) and the message. */
export const MAX_STATUS_DETAILS_BYTES = 4096;

/** The content of a google.rpc.Status, with the details that Holdfast uses. */
export interface StatusDetails {
  readonly code: number;
  /** Equals `grpc-message`, because Python's grpc_status rejects details with another message. */
  readonly message: string;
  readonly reason: string;
  readonly domain: string;
  readonly metadata: ReadonlyMap<string, string>;
  readonly retryAfterMs: number | undefined;
  readonly violations: readonly FieldViolation[];
}

/**
 * Serializes the details in at most MAX_STATUS_DETAILS_BYTES. Details that are too long lose their last violations
 * first, then their last metadata entries. The reason and the retry delay always stay.
 */
export function encodeStatusDetails(details: StatusDetails): Buffer {
  const metadata = [...details.metadata];
  let head = encodeHead(details, metadata);
  while (head.length > MAX_STATUS_DETAILS_BYTES && metadata.length > 0) {
    metadata.pop();
    head = encodeHead(details, metadata);
  }
  return appendViolations(head, details.violations);
}

function encodeHead(details: StatusDetails, metadata: readonly (readonly [string, string])[]): Buffer {
  const { code, message, reason, domain, retryAfterMs } = details;
  const info = encodeErrorInfo({ reason, domain, metadata: new Map(metadata) });
  const anys = [any('google.rpc.ErrorInfo', info)];
  if (retryAfterMs !== undefined) {
    const retry = encodeRetryInfo({ retryDelay: msToDuration(retryAfterMs) });
    anys.push(any('google.rpc.RetryInfo', retry));
  }
  return encodeStatus({ code, message, details: anys });
}

/** Appends the violations that fit, and the number of violations that do not fit. */
function appendViolations(head: Buffer, violations: readonly FieldViolation[]): Buffer {
  if (violations.length === 0) return head;
  for (let kept = violations.length; kept >= 0; kept--) {
    const fieldViolations = violations.slice(0, kept).map(violationMessage);
    const left = violations.length - kept;
    if (left > 0) fieldViolations.push(violationMessage({ field: '', description: `and ${left} more` }));
    const details = [any('google.rpc.BadRequest', encodeBadRequest({ fieldViolations }))];
    // Two serialized messages in a row are one message with the details of both.
    const whole = Buffer.concat([head, encodeStatus({ code: 0, message: '', details })]);
    if (whole.length <= MAX_STATUS_DETAILS_BYTES) return whole;
  }
  return head;
}

function any(type: string, value: Buffer): Any {
  return { typeUrl: `type.googleapis.com/${type}`, value };
}

function violationMessage({ field, description }: FieldViolation): BadRequest_FieldViolation {
  return { field, description, reason: '', localizedMessage: undefined };
}

export interface ErrorRow {
  readonly code: status;
  /** The delay in RetryInfo if the engine gives no delay. Undefined: no RetryInfo is sent. */
  readonly retryAfterMs?: number;
  /** Also send the delay as `grpc-retry-pushback-ms`, which gRPC libraries obey when they retry. */
  readonly pushback?: true;
}

/** The status code and the advice on retries for each reason. `docs/errors.md` is made from this table. */
export const ERROR_TABLE: Readonly<Record<Reason, ErrorRow>> = {
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
  OVERLOADED: { code: status.RESOURCE_EXHAUSTED, retryAfterMs: 1000 },
  STORE_FULL: { code: status.RESOURCE_EXHAUSTED, retryAfterMs: 5000 },
  STORE_UNAVAILABLE: { code: status.UNAVAILABLE, retryAfterMs: 1000 },
  OUTCOME_UNKNOWN: { code: status.UNAVAILABLE, retryAfterMs: 200 },
  DRAINING: { code: status.UNAVAILABLE, retryAfterMs: 100, pushback: true },
  QUARANTINED: { code: status.UNAVAILABLE, retryAfterMs: 1000, pushback: true },
  DICTIONARY_LOADING: { code: status.UNAVAILABLE, retryAfterMs: 1000, pushback: true },
  REATTACH: { code: status.UNAVAILABLE, retryAfterMs: 0, pushback: true },
  SESSION_SILENT: { code: status.UNAVAILABLE, retryAfterMs: 0 },
  NO_CREDENTIAL: { code: status.UNAUTHENTICATED },
  BAD_CREDENTIAL: { code: status.UNAUTHENTICATED },
  NOT_ALLOWED: { code: status.PERMISSION_DENIED },
  NOT_IMPLEMENTED: { code: status.UNIMPLEMENTED },
  INTERNAL: { code: status.INTERNAL },
};

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
    return translated(error, ANY_CALL) as HoldfastError;
  }
  const errorId = randomUUID();
  log.error({ err: error, method, errorId, ...caller() }, 'call failed');
  return new HoldfastError('INTERNAL', `the server failed; search its log for ${errorId}`, {
    metadata: { error_id: errorId },
  });
}

const ANY_CALL = {
  unknown: () => outcomeUnknown('the call may have been carried out', 'repeat the call'),
  whenFull: 'try again when the store has room',
};

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

/** The HTTP/2 headers of an answer that consists of a status only: for calls that never reach grpc-js. */
export function refusalHeaders(error: HoldfastError): OutgoingHttpHeaders {
  const { code, details, metadata } = statusOf(error);
  return {
    [constants.HTTP2_HEADER_STATUS]: constants.HTTP_STATUS_OK,
    [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc+proto',
    'grpc-status': code,
    'grpc-message': encodeURI(details),
    ...metadata.toHttp2Headers(),
  };
}
