import type { Any } from '../../generated/typescript/google/protobuf/any';
import {
  BadRequest,
  ErrorInfo,
  RetryInfo,
  type BadRequest_FieldViolation,
} from '../../generated/typescript/google/rpc/error_details';
import { Status } from '../../generated/typescript/google/rpc/status';
import { serializer } from './serialize';
import { msToDuration } from './times';

const encodeStatus = serializer(Status);
const encodeErrorInfo = serializer(ErrorInfo);
const encodeRetryInfo = serializer(RetryInfo);
const encodeBadRequest = serializer(BadRequest);

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
