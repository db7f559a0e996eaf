import type { Service } from '../../../src/leases/lease';
import type { EitherWanted } from '../../support/clients/lease-client';
import type { EventBody, Micros } from '../../support/history';
import type { Recorder } from '../../support/history-recorder';
import type { Held } from '../held';
import type { Told } from './link-command';

/** An acquire of a session. Without `waitMs` the request waits until the client cancels it. */
export interface SessionWanted extends EitherWanted {
  readonly service: Service;
  readonly requestId: string;
  readonly ttlMs: number;
}

let callCount = 0;

/** Writes the history of a client of sessions. Each command of each session is a call of its own. */
export class SessionRecord {
  constructor(
    readonly client: string,
    private readonly recorder: Recorder,
  ) {}

  now(): Micros {
    return this.recorder.now();
  }

  write(body: EventBody, at?: Micros): void {
    this.recorder.record(body, at);
  }

  ofCall(call: string): { client: string; call: string } {
    return { client: this.client, call };
  }

  newCall(): string {
    callCount += 1;
    return `${this.client}-${process.pid}-s${callCount}`;
  }

  acquireAsked(session: string, wanted: SessionWanted): string {
    return this.asked(session, 'hold', wanted, wanted.requestId, null);
  }

  attachAsked(session: string, held: Held): string {
    return this.asked(session, 'attach', { name: held.name, ttlMs: held.ttlUs / 1000 }, null, held.hash);
  }

  granted(call: string, held: Held, { t0, heartbeat, at }: Told): void {
    const { hash: lease, name, requestId, permitCount, ttlUs, expireOffsetUs, deadline } = held;
    const body = { lease, ttlUs, t0, heartbeat, expireOffsetUs, deadline };
    const token = Number(held.token);
    this.write({ type: 'granted', ...this.ofCall(call), ...body, name, requestId, token, permitCount }, at);
  }

  ended(call: string, code: string, reason: string | null, at?: Micros): void {
    this.write({ type: 'ended', ...this.ofCall(call), code, reason }, at);
  }

  private asked(
    session: string,
    rpc: 'hold' | 'attach',
    { name, mode = 'exclusive', permits = 1, ttlMs = 0, waitMs }: EitherWanted,
    requestId: string | null,
    lease: string | null,
  ): string {
    const call = this.newCall();
    this.write({
      type: 'asked',
      ...this.ofCall(call),
      rpc,
      session,
      name,
      requestId,
      lease,
      mode,
      permitCount: permits,
      ttlUs: ttlMs * 1000,
      waitTimeoutUs: waitMs === undefined ? null : waitMs * 1000,
    });
    return call;
  }
}
