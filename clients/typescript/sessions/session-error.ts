import type { ServiceError } from '@grpc/grpc-js';
import type { CommandFailed } from '../../../generated/typescript/holdfast/v1/session_service';
import { durationToMs } from '../duration';
import { holdfastError } from '../holdfast-error';

/** An error of a command or of a session. Decide by `reason`, never by the text. */
export class SessionError extends Error {
  override readonly name = 'SessionError';

  constructor(
    message: string,
    /** An ErrorReason without its prefix. `CLOSED`, `ABORTED` and `NO_ANSWER` come from the client itself. */
    readonly reason: string,
    /** The facts that error_reason.proto lists, for example `holder_id`. */
    readonly metadata: ReadonlyMap<string, string> = new Map(),
    /** The delay before a retry (ms). Undefined: the server advises no retry. */
    readonly retryAfterMs?: number,
  ) {
    super(message);
  }

  static ofCommand({ message, reasonText, metadata, retryDelay }: CommandFailed): SessionError {
    return new SessionError(message, reasonText, metadata, retryDelay && durationToMs(retryDelay));
  }

  /** The error of a stream that has ended. Without a reason: a broken connection. */
  static ofStream(error: ServiceError | undefined): SessionError {
    const fault = holdfastError(error);
    const text = error?.details || 'the stream ended without a reason';
    return new SessionError(text, fault?.reason ?? '', fault?.metadata, fault?.retryAfterMs);
  }
}

/** Why a lease is over. */
export type LossCause =
  /** The deadline on the own clock has passed. */
  | 'DEADLINE'
  /** The server has answered that the lease is not held. */
  | 'LEASE_NOT_HELD'
  /** A SessionEndCause without its prefix, or UNRECOGNIZED. */
  | 'EXPIRED'
  | 'REVOKED'
  | 'STORE_RESET'
  | 'STORE_UNAVAILABLE'
  | 'RELEASED'
  | 'SUPERSEDED'
  | 'UNRECOGNIZED';

/** The lease is over: stop the work that it protects. The reason of `Lease.signal`. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';

  constructor(
    readonly lossCause: LossCause,
    /** The deadline on `performance.now()`. */
    readonly deadline: number,
  ) {
    super(lossCause === 'DEADLINE' ? 'the deadline of the lease has passed' : `lease lost: ${lossCause}`);
  }
}
