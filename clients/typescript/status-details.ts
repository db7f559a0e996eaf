import { BadRequest, ErrorInfo, RetryInfo } from '../../generated/typescript/google/rpc/error_details';
import { Status } from '../../generated/typescript/google/rpc/status';
import { durationToMs } from './duration';

export interface FieldViolation {
  /** The path of the field, spelled as in the proto files, e.g. `acquire.ttl`. */
  readonly field: string;
  readonly description: string;
}

/** The details of a google.rpc.Status that Holdfast sends. */
export interface StatusDetails {
  readonly code: number;
  readonly message: string;
  readonly reason: string;
  readonly domain: string;
  readonly metadata: ReadonlyMap<string, string>;
  readonly retryAfterMs: number | undefined;
  readonly violations: readonly FieldViolation[];
}

/** Skips details of other types. Undefined: the bytes are not a serialized google.rpc.Status. */
export function decodeStatusDetails(bytes: Uint8Array): StatusDetails | undefined {
  try {
    return decode(bytes);
  } catch {
    return undefined;
  }
}

function decode(bytes: Uint8Array): StatusDetails {
  const { code, message, details } = Status.decode(bytes);
  let info = ErrorInfo.create();
  let retryAfterMs: number | undefined;
  const violations: FieldViolation[] = [];
  for (const { typeUrl, value } of details) {
    // Only the last segment names the type. The prefix may differ between senders.
    switch (typeUrl.slice(typeUrl.lastIndexOf('/') + 1)) {
      case 'google.rpc.ErrorInfo':
        info = ErrorInfo.decode(value);
        break;
      case 'google.rpc.RetryInfo': {
        const { retryDelay } = RetryInfo.decode(value);
        retryAfterMs = retryDelay && durationToMs(retryDelay);
        break;
      }
      case 'google.rpc.BadRequest':
        for (const { field, description } of BadRequest.decode(value).fieldViolations) {
          violations.push({ field, description });
        }
    }
  }
  const { reason, domain, metadata } = info;
  return { code, message, reason, domain, metadata, retryAfterMs, violations };
}
