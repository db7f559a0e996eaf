/** A unary call at its end. */
export interface EndedCall {
  readonly service: string;
  readonly method: string;
  /** The number of the status. */
  readonly code: number;
  /** The reason of the error. Undefined: the call has succeeded, or gRPC itself has ended the call. */
  readonly reason: string | undefined;
  /** The W3C trace context of the caller. */
  readonly traceparent: string | undefined;
  /** The arrival and the end of the call (ms, monotonic). */
  readonly startedAt: number;
  readonly endedAt: number;
}

/** Called at the end of each unary call. Must not throw. */
export interface CallSpans {
  ended(call: EndedCall): void;
}
