import type { Any } from '../../generated/typescript/google/protobuf/any';
import {
  BadRequest,
  ErrorInfo,
  RetryInfo,
  type BadRequest_FieldViolation,
} from '../../generated/typescript/google/rpc/error_details';
import { Status } from '../../generated/typescript/google/rpc/status';
import { msToDuration } from './times';

/** The trailer that carries a serialized google.rpc.Status. */
export const STATUS_DETAILS_TRAILER = 'grpc-status-details-bin';
/** Clients in Python and Java refuse trailers above 8 KiB. The trailers hold these details (as base64) and the message. */
export const MAX_STATUS_DETAILS_BYTES = 4096;

export interface FieldViolation {
  readonly field: string;
  readonly description: string;
}

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
export function encodeStatusDetails(details: StatusDetails): Uint8Array {
  const metadata = [...details.metadata];
  let head = encodeHead(details, metadata);
  while (head.length > MAX_STATUS_DETAILS_BYTES && metadata.length > 0) {
    metadata.pop();
    head = encodeHead(details, metadata);
  }
  return appendViolations(head, details.violations);
}

function encodeHead(details: StatusDetails, metadata: readonly (readonly [string, string])[]): Uint8Array {
  const { code, message, reason, domain, retryAfterMs } = details;
  const info = ErrorInfo.encode({ reason, domain, metadata: new Map(metadata) }).finish();
  const anys = [any('google.rpc.ErrorInfo', info)];
  if (retryAfterMs !== undefined) {
    const retry = RetryInfo.encode({ retryDelay: msToDuration(retryAfterMs) }).finish();
    anys.push(any('google.rpc.RetryInfo', retry));
  }
  return Status.encode({ code, message, details: anys }).finish();
}

/** Appends the violations that fit, and the number of violations that do not fit. */
function appendViolations(head: Uint8Array, violations: readonly FieldViolation[]): Uint8Array {
  if (violations.length === 0) return head;
  for (let kept = violations.length; kept >= 0; kept--) {
    const fieldViolations = violations.slice(0, kept).map(violationMessage);
    const left = violations.length - kept;
    if (left > 0) fieldViolations.push(violationMessage({ field: '', description: `and ${left} more` }));
    const details = [any('google.rpc.BadRequest', BadRequest.encode({ fieldViolations }).finish())];
    // Two serialized messages in a row are one message with the details of both.
    const whole = Buffer.concat([head, Status.encode({ code: 0, message: '', details }).finish()]);
    if (whole.length <= MAX_STATUS_DETAILS_BYTES) return whole;
  }
  return head;
}

function any(type: string, value: Uint8Array): Any {
  return { typeUrl: `type.googleapis.com/${type}`, value: Buffer.from(value) };
}

function violationMessage({ field, description }: FieldViolation): BadRequest_FieldViolation {
  return { field, description, reason: '', localizedMessage: undefined };
}
