import type { Call } from '../call';

/**
 * Limits the waiting unary calls of each connection. gRPC ends a connection that cancels too many calls at the same
 * time, with every hold stream on the connection (docs/design/leases.md, rule 13).
 */
export class WaitingCalls {
  private readonly counts = new WeakMap<object, number>();

  constructor(private readonly maxCount: number) {}

  /** Counts the call, unless its connection has reached the limit. Returns whether the call was counted. */
  tryAdd(connection: object): boolean {
    const count = this.count(connection);
    if (count >= this.maxCount) return false;
    this.counts.set(connection, count + 1);
    return true;
  }

  remove(connection: object): void {
    this.counts.set(connection, this.count(connection) - 1);
  }

  private count(connection: object): number {
    return this.counts.get(connection) ?? 0;
  }
}

/** Whether one call may wait. A unary call may only try once if too many calls of its connection already wait. */
export class WaitAllowance {
  readonly mayWait: boolean;
  /** True: the call may not wait because of the limit of its connection. */
  readonly isOverLimit: boolean;
  private readonly isCounted: boolean;

  /**
   * `hasTime`: the request and the deadline allow a wait. The call counts before the store answers, because a burst of
   * calls would pass the limit otherwise.
   */
  constructor(
    private readonly calls: WaitingCalls,
    private readonly call: Call,
    hasTime: boolean,
    stream: boolean,
  ) {
    this.isCounted = hasTime && !stream && calls.tryAdd(call.connection);
    this.mayWait = hasTime && (stream || this.isCounted);
    this.isOverLimit = hasTime && !this.mayWait;
  }

  /** Call this once, when the call ends. */
  close(): void {
    if (this.isCounted) this.calls.remove(this.call.connection);
  }
}
