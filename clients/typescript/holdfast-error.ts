import type { Metadata } from '@grpc/grpc-js';
import {
  decodeStatusDetails,
  STATUS_DETAILS_TRAILER,
  type FieldViolation,
  type StatusDetails,
} from '../../src/wire/status-details';

/** What a Holdfast server says about a failed call. Decide by `reason`, never by the text. */
export interface HoldfastFault {
  /** The word of the contract's table, e.g. `CONTENDED`. */
  readonly reason: string;
  /** Facts that go with it, by the names that `error_reason.proto` gives them. */
  readonly metadata: ReadonlyMap<string, string>;
  /** How long to wait before the next try; undefined where the server does not advise one. */
  readonly retryAfterMs: number | undefined;
  /** Every bad field of the request at once; empty unless `reason` is INVALID_FIELD. */
  readonly violations: readonly FieldViolation[];
}

const DOMAIN = 'holdfast';
const REASON_TRAILER = 'holdfast-reason';
const PUSHBACK_TRAILER = 'grpc-retry-pushback-ms';

/**
 * Reads the error of a call made with grpc-js:
 *
 *     catch (error) {
 *       if (holdfastError(error)?.reason === 'CONTENDED') …
 *     }
 *
 * Undefined for whatever no Holdfast server made: CANCELLED, DEADLINE_EXCEEDED, a connection that failed, an
 * error that has nothing to do with gRPC.
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

/** By shape, not by class: an application may have a grpc-js of its own. */
function trailersOf(error: unknown): Metadata | undefined {
  if (typeof error !== 'object' || error === null || !('metadata' in error)) return undefined;
  const { metadata } = error as { metadata: Partial<Metadata> | null | undefined };
  return typeof metadata?.get === 'function' ? (metadata as Metadata) : undefined;
}

function detailsIn(trailers: Metadata): StatusDetails | undefined {
  const [bytes] = trailers.get(STATUS_DETAILS_TRAILER);
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
