import type { HoldEvent, LossCause, Mode } from './lease';

/** An acquire; the transport has checked its fields. */
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
  /** Limit of a semaphore that does not exist yet; undefined: the semaphore must exist. Unused for locks. */
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
  /** True: the lease ended by a release, by this call or by an earlier try of it. */
  readonly released: boolean;
  /** Why the lease had ended before, if that is known. */
  readonly lossCause: LossCause | undefined;
}
