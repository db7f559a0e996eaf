import type { Call, SignsOfLife } from '../base/call';
import type { Service } from './lease';
import type { LeaseId } from './lease-id';
import type { HoldStart, LeaseOwner, ReleaseResult, Renewal } from './lease-requests';

export class Heartbeats implements SignsOfLife {
  private readonly listeners: (() => void)[] = [];

  constructor(
    public id: number,
    /** The receipt of the latest heartbeat (ms, monotonic clock). Offsets count from this time. */
    public lastAt: number,
    readonly timeoutMs: number,
  ) {}

  /** @param id above `this.id` */
  receive(id: number, receivedAt: number): void {
    this.id = id;
    this.lastAt = receivedAt;
    for (const listener of this.listeners.splice(0)) listener();
  }

  onNext(listener: () => void): void {
    this.listeners.push(listener);
  }
}

/** The engine of leases, as sessions use it. */
export interface SessionLeases {
  take(call: Call, service: Service, start: HoldStart, owner: LeaseOwner): Promise<void>;
  releaseLease(call: Call, id: LeaseId): Promise<ReleaseResult>;
  renewLease(call: Call, id: LeaseId, renewal: Renewal): Promise<unknown>;
}
