import { Metadata, type ServiceError } from '@grpc/grpc-js';
import { ErrorReason } from '../../../generated/typescript/holdfast/v1/error_reason';
import { CommandFailed } from '../../../generated/typescript/holdfast/v1/session_service';
import { encodeStatusDetails, ERROR_TABLE, STATUS_DETAILS_TRAILER } from '../../../src/rpc/call-errors';
import { msToDuration } from '../../../src/rpc/wire';

/** A status as a case writes it. */
export interface StatusSpec {
  /** An ErrorReason without its prefix, a reason that does not exist, or empty for a status without details. */
  readonly reason: string;
  readonly code: number;
  readonly message: string;
  readonly retryMs: number | undefined;
  readonly metadata: ReadonlyMap<string, string>;
}

const FIELDS = new Set(['reason', 'code', 'message', 'retry_ms', 'metadata']);

/** Reads `CONTENDED` or `{reason, code, retry_ms, message, metadata}`. Throws an Error with a text for the author. */
export function statusSpec(value: unknown): StatusSpec {
  const given = typeof value === 'string' ? { reason: value } : value;
  if (typeof given !== 'object' || given === null) throw new Error('a status is a reason or a map');
  const unknown = Object.keys(given).find((key) => !FIELDS.has(key));
  if (unknown !== undefined) throw new Error(`a status has no field "${unknown}"`);
  const { reason = '', code, message, retry_ms: retryMs, metadata = {} } = given as Record<string, unknown>;
  if (typeof reason !== 'string') throw new Error('the reason of a status is a text');
  const row = Object.entries(ERROR_TABLE).find(([name]) => name === reason)?.[1];
  const number = code ?? row?.code;
  if (typeof number !== 'number')
    throw new Error(`the reason "${reason}" does not exist, so it needs a code`);
  return {
    reason,
    code: number,
    message: typeof message === 'string' ? message : `the case says so (${reason || 'no reason'})`,
    retryMs: typeof retryMs === 'number' ? retryMs : row?.retryAfterMs,
    metadata: new Map(Object.entries(metadata as Record<string, string>)),
  };
}

/** The status of a call or a stream. */
export function serviceError({ reason, code, message, retryMs, metadata }: StatusSpec): ServiceError {
  const trailers = new Metadata();
  if (reason !== '') {
    const details = {
      code,
      message,
      reason,
      domain: 'holdfast',
      metadata,
      retryAfterMs: retryMs,
      violations: [],
    };
    trailers.set(STATUS_DETAILS_TRAILER, encodeStatusDetails(details));
    trailers.set('holdfast-reason', reason);
  }
  return Object.assign(new Error(message), { code, details: message, metadata: trailers });
}

/** The `failed` event of a command. */
export function commandFailed({ reason, code, message, retryMs, metadata }: StatusSpec): CommandFailed {
  const known = ErrorReason[`ERROR_REASON_${reason}` as keyof typeof ErrorReason];
  return CommandFailed.create({
    code,
    // A newer server has reasons that this contract does not know.
    reason: known ?? (reason === '' ? 0 : 4711),
    reasonText: reason,
    message,
    metadata: new Map(metadata),
    ...(retryMs !== undefined && { retryDelay: msToDuration(retryMs) }),
  });
}
