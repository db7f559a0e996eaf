import type { StatusObject } from '@grpc/grpc-js';
import type { HoldEvent } from '../../generated/typescript/holdfast/v1/lease';
import { type Ending, endingOf } from '../support/clients/calls';
import type { HoldCall } from '../support/clients/streams';
import type { LossCause, Micros } from '../support/history';
import { CallEnded, causeOf, deadlineOf, microsOf, type Held } from './held';
import type { RecordedClient } from './recorded-client';

type Event = NonNullable<HoldEvent['event']>;
export type EventKind = Event['$case'];

/** A hold stream that records its events, and lets a test wait for them. */
export class RecordedStream {
  /** The kinds of the received events, in order. */
  readonly kinds: EventKind[] = [];
  readonly positions: number[] = [];
  held: Held | undefined;
  lossCause: LossCause | undefined;
  /** The end of the time in which the client may believe in the lease, by all events so far. */
  deadline: Micros = 0;
  ending: Ending | undefined;
  /** Resolves with the status of the stream. */
  readonly ended: Promise<Ending>;
  private cancelled = false;
  private readonly listeners = new Set<() => void>();

  constructor(
    private readonly client: RecordedClient,
    private readonly stream: HoldCall,
    private readonly call: string,
    private readonly t0: Micros,
  ) {
    stream.on('data', (response: { holdEvent?: HoldEvent | undefined }) => {
      this.receive(response.holdEvent?.event);
      this.wake();
    });
    // An unhandled event 'error' ends the process. The event 'status' has the same information.
    stream.on('error', () => undefined);
    const status = new Promise<StatusObject>((resolve) => stream.on('status', resolve));
    const lastRead = new Promise<void>((resolve) => stream.on('end', resolve));
    this.ended = Promise.all([status, lastRead]).then(([object]) => this.end(object));
  }

  get wasLost(): boolean {
    return this.kinds.includes('lost');
  }

  count(kind: EventKind): number {
    return this.kinds.filter((one) => one === kind).length;
  }

  /** Waits until the request is queued, and returns its first position. */
  async queued(): Promise<number> {
    return this.heard('queued', () => this.positions[0]);
  }

  /** Waits for the lease. Rejects with CallEnded if the stream ends without a lease. */
  async granted(timeoutMs?: number): Promise<Held> {
    return this.heard('a grant', () => this.held, timeoutMs);
  }

  /** Waits until the stream has received `count` events of a kind since its start. */
  async atLeast(kind: EventKind, count: number): Promise<void> {
    await this.heard(`${count} ${kind}`, () => this.count(kind) >= count);
  }

  /** Waits for `count` events of a kind from now on. */
  async more(kind: EventKind, count = 1): Promise<void> {
    const wanted = this.count(kind) + count;
    await this.heard(`${count} more ${kind}`, () => this.count(kind) >= wanted);
  }

  cancel(): void {
    if (this.ending !== undefined || this.cancelled) return;
    this.cancelled = true;
    this.client.record({ type: 'cancelled', ...this.client.of(this.call) });
    this.stream.cancel();
  }

  private async heard<T>(what: string, check: () => T | undefined, timeoutMs = 30_000) {
    const until = performance.now() + timeoutMs;
    for (;;) {
      const found = check();
      if (found) return found as Exclude<T, false | undefined>;
      if (this.ending !== undefined) throw new CallEnded(this.ending);
      const left = until - performance.now();
      if (left <= 0) throw new Error(`${this.call} did not hear ${what} within ${timeoutMs} ms`);
      await this.change(left);
    }
  }

  /** Resolves at the next event or at the timeout. */
  private change(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const goOn = (): void => {
        clearTimeout(timer);
        this.listeners.delete(goOn);
        resolve();
      };
      const timer = setTimeout(goOn, timeoutMs);
      this.listeners.add(goOn);
    });
  }

  private wake(): void {
    for (const goOn of [...this.listeners]) goOn();
  }

  private receive(event: Event | undefined): void {
    const at = this.client.recorder.now();
    if (event === undefined || this.cancelled) return;
    this.kinds.push(event.$case);
    const base = this.client.of(this.call);
    const lease = this.held?.hash ?? '';
    switch (event.$case) {
      case 'queued':
        this.positions.push(event.value.position);
        this.client.record({ type: 'queued', ...base, position: event.value.position }, at);
        return;
      case 'granted':
        this.held = this.client.granted(this.call, this.t0, event.value.lease);
        this.deadline = Math.max(this.deadline, this.held.deadline);
        return;
      case 'renewed': {
        const ttlUs = this.held?.ttlUs ?? 0;
        const expireOffsetUs = microsOf(event.value.expireOffset);
        const deadline = deadlineOf(this.t0, expireOffsetUs, at, ttlUs);
        this.deadline = Math.max(this.deadline, deadline);
        const said = { lease, ttlUs, t0: this.t0, expireOffsetUs, deadline };
        this.client.record({ type: 'renewed', ...base, ...said }, at);
        return;
      }
      case 'renewalFailed':
        this.client.record({ type: 'renewal_failed', ...base, lease, cause: causeOf(event.value.cause) }, at);
        return;
      case 'released':
        this.client.record({ type: 'released', ...base, lease }, at);
        return;
      case 'lost':
        this.lossCause = causeOf(event.value.cause);
        this.client.record({ type: 'lost', ...base, lease, cause: this.lossCause }, at);
    }
  }

  private end(status: StatusObject): Ending {
    const ending = endingOf(Object.assign(new Error(), status));
    if (!this.cancelled) {
      const { code, reason = null } = ending;
      this.client.record({ type: 'ended', ...this.client.of(this.call), code, reason });
    }
    this.ending = ending;
    this.wake();
    return ending;
  }
}
