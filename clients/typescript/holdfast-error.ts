import type { Metadata } from '@grpc/grpc-js';
import { decodeStatusDetails, type FieldViolation, type StatusDetails } from './status-details';

/** An error of a Holdfast server. Decide by `reason`, never by the text. */
export interface HoldfastFault {
  /** An ErrorReason without its prefix, e.g. `CONTENDED`. See docs/errors.md. */
  readonly reason: string;
  /** Facts about the error. `error_reason.proto` lists their names. */
  readonly metadata: ReadonlyMap<string, string>;
  /** The delay before a retry (ms). Undefined: the server advises no retry. */
  readonly retryAfterMs: number | undefined;
  /** All invalid fields of the request. Empty unless `reason` is INVALID_FIELD. */
  readonly violations: readonly FieldViolation[];
}

const DOMAIN = 'holdfast';
const DETAILS_TRAILER = 'grpc-status-details-bin';
const REASON_TRAILER = 'holdfast-reason';
const PUSHBACK_TRAILER = 'grpc-retry-pushback-ms';

/**
 * Reads the error of a grpc-js call:
 *
 *     catch (error) {
 *       if (holdfastError(error)?.reason === 'CONTENDED') …
 *     }
 *
 * Undefined for an error that does not come from a Holdfast server: CANCELLED, DEADLINE_EXCEEDED, a failed connection,
 * an error outside gRPC.
 */
export function holdfastError(error: unknown): HoldfastFault | undefined {
  const trailers = trailersOf(error);
  if (trailers === undefined) return undefined;
  const details = detailsIn(trailers);
  const reason = details?.reason ?? firstText(trailers, REASON_TRAILER);
  if (reason === undefined) return undefined;
  return {
    reason,
    metadata: details?.metadata ?? new Map(),
    retryAfterMs: details?.retryAfterMs ?? pushbackIn(trailers),
    violations: details?.violations ?? [],
  };
}

/** Checks the shape and not the class, because the application may have its own copy of grpc-js. */
function trailersOf(error: unknown): Metadata | undefined {
  if (typeof error !== 'object' || error === null || !('metadata' in error)) return undefined;
  const { metadata } = error as { metadata: Partial<Metadata> | null | undefined };
  // The client's own errors have a Map.
  if (metadata instanceof Map) return undefined;
  return typeof metadata?.get === 'function' ? (metadata as Metadata) : undefined;
}

function detailsIn(trailers: Metadata): StatusDetails | undefined {
  const [bytes] = trailers.get(DETAILS_TRAILER);
  if (!Buffer.isBuffer(bytes)) return undefined;
  const details = decodeStatusDetails(bytes);
  return details?.domain === DOMAIN ? details : undefined;
}

function pushbackIn(trailers: Metadata): number | undefined {
  const text = firstText(trailers, PUSHBACK_TRAILER);
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

function firstText(trailers: Metadata, name: string): string | undefined {
  const [value] = trailers.get(name);
  return typeof value === 'string' ? value : undefined;
}
