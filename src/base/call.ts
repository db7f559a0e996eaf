import type { Account, Quotas } from './accounts';
import type { CallerUse } from './callers';

/** The engine's view of a call: of gRPC (rpc/served-call.ts), or of a command of a session (leases/sessions/command.ts). */
export interface Call {
  /**
   * When the handler of this call started, or for a command of a session the receipt of its message (ms, monotonic clock).
   * `Life.offsetsFrom` says from when offsets count.
   */
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

const MIN_MARGIN_MS = 20;
const MAX_MARGIN_MS = 250;

/**
 * How long a call may wait so that its answer arrives before the call's deadline (docs/design/leases.md, rule 13). A
 * wait that ends with an answer resets no HTTP/2 stream. 0 or less: the call may only try once.
 */
export function answerWithinMs(timeoutMs: number | undefined): number {
  if (timeoutMs === undefined) return Infinity;
  return timeoutMs - Math.min(Math.max(timeoutMs / 10, MIN_MARGIN_MS), MAX_MARGIN_MS);
}
