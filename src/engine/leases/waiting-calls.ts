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
