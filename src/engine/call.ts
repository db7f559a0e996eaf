/** What the engine needs to know of the call it serves. The transport owns the call; this is its face. */
export interface Call {
  /** Monotonic clock when the handler for this call started (ms): what every offset is counted from. */
  readonly receivedAt: number;
  /** Time the client gave, from `receivedAt` (ms); undefined: no deadline. */
  readonly timeoutMs: number | undefined;
  /** Identity of the connection the call came on, for the caps that count per connection. */
  readonly connection: object;
  /** gRPC sent this call again by itself (`grpc-previous-rpc-attempts`). */
  readonly transportRetry: boolean;
  /** The client is gone or has given up: nothing that is written now arrives. */
  readonly cancelled: boolean;
  /** Runs `listener` once when the call is cancelled; at once if it already is. */
  onCancelled(listener: () => void): void;
}
