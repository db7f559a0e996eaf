import type { HoldEvent, LossCause, Mode } from './lease';

/** The request of an acquire. The transport has checked its fields. */
export interface AcquireRequest {
  readonly name: string;
  /** A lower-case UUID v4 or v7. Undefined: the server makes an id. */
  readonly requestId: string | undefined;
  readonly mode: Mode;
  readonly permitCount: number;
  readonly holderId: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly ttlMs: number;
  /** Undefined: wait for as long as the call's deadline allows. 0: try once. */
  readonly waitTimeoutMs: number | undefined;
  /** The limit of a semaphore that does not exist yet. Undefined: the semaphore must exist. Unused for locks. */
  readonly initialLimit: number | undefined;
}

export type HoldStart =
  | { readonly kind: 'acquire'; readonly request: AcquireRequest & { readonly requestId: string } }
  | { readonly kind: 'attach'; readonly leaseId: string };

/**
 * Receives the events of a hold stream. `send` never blocks. If the client reads slowly, the transport drops events
 * that a newer event of the same kind replaces, and keeps the order.
 */
export interface HoldSink {
  send(event: HoldEvent): void;
}

export interface ReleaseResult {
  /** True: this release, or an earlier try of this release, ended the lease. */
  readonly released: boolean;
  /** The cause of the lease's end before the release. Undefined: unknown, or the lease was released. */
  readonly lossCause: LossCause | undefined;
}
