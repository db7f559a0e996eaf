import type { Account } from './account';
import type { CallSession } from './call-session';
import type { CallerUse } from './callers';
import type { Quotas } from './quotas';

/** The engine's view of a gRPC call. The transport implements this interface. */
export interface Call {
  /** Monotonic time at which the handler of this call started (ms). Every `expire_offset` counts from this time. */
  readonly receivedAt: number;
  /** The call's deadline, counted from `receivedAt` (ms). Undefined: no deadline. */
  readonly timeoutMs: number | undefined;
  /** Identifies the call's connection, for limits per connection. */
  readonly connection: object;
  /** The identity that the caller has proven. Empty: this server does not authenticate callers. */
  readonly identity: string;
  /** Counts the caller's use of this server. Undefined: the server has no quotas. */
  readonly account: Account | undefined;
  /** What the caller does on this server. Undefined: nobody counts it. */
  readonly caller?: CallerUse | undefined;
  /** The present quotas of the caller. */
  readonly quotas: Quotas;
  /** True: the caller may not read this name, so errors and events must not show its holders. May change by a reload. */
  readonly hidesHolders: boolean;
  /** The W3C trace context of the caller. Undefined: the caller has sent none that is valid. Read from the headers at each use. */
  readonly traceparent?: string | undefined;
  /** The session that the call belongs to. Undefined: the call is a gRPC call of its own. */
  readonly session?: CallSession | undefined;
  /** True: the client's gRPC library retried this call (header `grpc-previous-rpc-attempts`). */
  readonly transportRetry: boolean;
  /** True: the client has cancelled the call or is gone, so no answer reaches the client. */
  readonly cancelled: boolean;
  /** Runs `listener` once when the call is cancelled, or immediately if the call was cancelled before. */
  onCancelled(listener: () => void): void;
}

export interface StreamCall extends Call {
  /**
   * Runs `listener` once when a new policy no longer allows the call, in place of the usual end of the call with
   * NOT_ALLOWED. At most one listener.
   */
  onNotAllowed(listener: () => void): void;
}
