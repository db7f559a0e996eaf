import type { Call } from '../base/call';
import { resourceText, tooManyWaiting } from './lease-errors';
import type { Resource } from './lease';

/**
 * Limits the waiting unary calls of each connection. gRPC ends a connection that cancels too many calls at the same
 * time, with every hold stream on the connection (docs/design/leases.md, rule 13).
 */
export class WaitingCalls {
  private readonly counts = new WeakMap<object, number>();

  constructor(readonly maxCount: number) {}

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

/**
 * Whether one call may wait. A call may only try once if too many calls of its caller wait already, and a unary call also
 * if too many calls of its connection wait.
 */
export class WaitAllowance {
  readonly mayWait: boolean;
  private readonly hasAccountPlace: boolean;
  private readonly hasConnectionPlace: boolean;
  private readonly isCountedForConnection: boolean;

  /**
   * `hasTime`: the request and the deadline allow a wait. The call counts before the store answers, because a burst of
   * calls would pass the limit otherwise.
   */
  constructor(
    private readonly calls: WaitingCalls,
    private readonly call: Call,
    private readonly hasTime: boolean,
    stream: boolean,
  ) {
    const { account, connection } = call;
    this.hasAccountPlace = hasTime && (account?.mayWait ?? true);
    this.isCountedForConnection = this.hasAccountPlace && !stream && calls.tryAdd(connection);
    this.hasConnectionPlace = stream || this.isCountedForConnection;
    this.mayWait = this.hasAccountPlace && this.hasConnectionPlace;
    if (this.mayWait && account !== undefined) account.waiterCount += 1;
  }

  /** The error if only a limit forbids the wait. */
  limitError(resource: Resource): Error | undefined {
    if (!this.hasTime || this.mayWait) return undefined;
    const { account } = this.call;
    return account !== undefined && !this.hasAccountPlace
      ? account.tooManyWaiters(resourceText(resource))
      : tooManyWaiting(resource, this.calls.maxCount);
  }

  /** Call this once, when the call ends. */
  close(): void {
    const { account, connection } = this.call;
    if (this.isCountedForConnection) this.calls.remove(connection);
    if (this.mayWait && account !== undefined) account.waiterCount -= 1;
  }
}
