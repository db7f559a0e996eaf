import type { HoldEvent, LossCause, Mode } from './lease';

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
