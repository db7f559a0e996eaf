/** The engine's view of the gRPC call that it serves. The transport implements it. */
export interface Call {
  /** Monotonic clock when the handler of this call started (ms). Every offset counts from here. */
  readonly receivedAt: number;
  /** The client's deadline, counted from `receivedAt` (ms); undefined: no deadline. */
  readonly timeoutMs: number | undefined;
  /** Identifies the call's connection, for limits per connection. */
  readonly connection: object;
  /** gRPC retried this call on its own (`grpc-previous-rpc-attempts`). */
  readonly transportRetry: boolean;
  /** The client is gone or has cancelled: no answer arrives any more. */
  readonly cancelled: boolean;
  /** Runs `listener` once when the call is cancelled, or at once if the call was cancelled before. */
  onCancelled(listener: () => void): void;
}
