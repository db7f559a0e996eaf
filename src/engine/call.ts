import type { HoldEvent, LossCause, Mode } from './lease';

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

/** An acquire whose fields the transport has checked. */
export interface AcquireRequest {
  readonly name: string;
  /** Lower-case UUID v4 or v7; undefined: the server makes one. */
  readonly requestId: string | undefined;
  readonly mode: Mode;
  readonly permitCount: number;
  readonly holderId: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly ttlMs: number;
  /** Undefined: as long as the call's deadline allows; 0: try once. */
  readonly waitTimeoutMs: number | undefined;
  /** Of a semaphore that does not exist yet; undefined: it must exist. A lock has none. */
  readonly initialLimit: number | undefined;
}

export type HoldStart =
  | { readonly kind: 'acquire'; readonly request: AcquireRequest & { readonly requestId: string } }
  | { readonly kind: 'attach'; readonly leaseId: string };

/**
 * Where a hold stream's events go. `send` never blocks: the transport keeps order and, when the client
 * reads slowly, drops what a newer event of the same kind makes stale.
 */
export interface HoldSink {
  send(event: HoldEvent): void;
}

export interface ReleaseResult {
  /** True: the lease ended by a release, this one or an earlier try of it. */
  readonly released: boolean;
  /** Why not, as far as it is known. */
  readonly lossCause: LossCause | undefined;
}
