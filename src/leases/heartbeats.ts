import type { SignsOfLife } from '../base/call-session';

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
