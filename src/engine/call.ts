/** The engine's view of a gRPC call. The transport implements this interface. */
export interface Call {
  /** Monotonic time at which the handler of this call started (ms). Every `expire_offset` counts from this time. */
  readonly receivedAt: number;
  /** The call's deadline, counted from `receivedAt` (ms). Undefined: no deadline. */
  readonly timeoutMs: number | undefined;
  /** Identifies the call's connection, for limits per connection. */
  readonly connection: object;
  /** True: the client's gRPC library retried this call (header `grpc-previous-rpc-attempts`). */
  readonly transportRetry: boolean;
  /** True: the client has cancelled the call or is gone, so no answer reaches the client. */
  readonly cancelled: boolean;
  /** Runs `listener` once when the call is cancelled, or immediately if the call was cancelled before. */
  onCancelled(listener: () => void): void;
}
