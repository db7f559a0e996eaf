import { randomUUID } from 'node:crypto';
import type { Lease } from '../../generated/typescript/holdfast/v1/lease';
import type { Service } from '../../src/leases/lease';
import { endingOf } from '../support/clients/calls';
import {
  type ClientOptions,
  eitherClient,
  type EitherClient,
  type EitherWanted,
  type HoldStart,
} from '../support/clients/lease-client';
import type { Asked, EventBody, LossCause, Micros } from '../support/history';
import type { Recorder } from '../support/history-recorder';
import { CallEnded, causeOf, heldOf, type Held } from './held';
import { RecordedStream } from './recorded-stream';

const DEFAULT_TTL_MS = 30_000;
let callCount = 0;

/**
 * A client of one service that records all sent and received messages. The client never retries, has its own
 * connection, and may move to another server.
 */
export class RecordedClient {
  private readonly clients: EitherClient[];

  constructor(
    readonly name: string,
    address: string,
    readonly recorder: Recorder,
    private readonly service: Service = 'lock',
    private readonly options: ClientOptions = {},
  ) {
    this.clients = [eitherClient(service, address, options)];
  }

  /** Sends later calls to another server. Open calls stay at their server. */
  moveTo(address: string): void {
    this.clients.push(eitherClient(this.service, address, this.options));
  }

  /** Rejects with CallEnded when the call ends without a lease. */
  async acquire(wanted: EitherWanted): Promise<Held> {
    const { call, t0 } = this.ask('acquire', wanted, undefined);
    const lease = await this.answered(call, this.current.acquire(wanted));
    const held = this.granted(call, t0, lease);
    this.record({ type: 'ended', ...this.of(call), code: 'OK', reason: null });
    return held;
  }

  async renew(held: Held, ttlMs?: number): Promise<Held> {
    const call = this.newCall();
    const ttlUs = ttlMs === undefined ? null : ttlMs * 1000;
    const { at: t0 } = this.record({ type: 'renew_asked', ...this.of(call), lease: held.hash, ttlUs });
    const lease = await this.answered(call, this.current.renew(held.leaseId, ttlMs));
    const at = this.recorder.now();
    const renewed = heldOf(lease, t0, at);
    this.record({ type: 'renewed', ...this.of(call), ...believed(renewed, t0) }, at);
    return renewed;
  }

  async release(held: Held): Promise<{ released: boolean; cause: LossCause | null }> {
    const call = this.newCall();
    this.record({ type: 'release_asked', ...this.of(call), lease: held.hash });
    const answer = await this.answered(call, this.current.release(held.leaseId));
    const { released } = answer;
    const lossCause = released ? null : causeOf(answer.lossCause);
    this.record({ type: 'release_answered', ...this.of(call), lease: held.hash, released, lossCause });
    return { released, cause: lossCause };
  }

  /** Opens a stream that requests a lease, with a new request id unless `given` has an id. */
  hold(given: EitherWanted): RecordedStream {
    const wanted = { requestId: randomUUID(), ...given };
    const { call, t0 } = this.ask('hold', wanted, undefined);
    return this.open(call, t0, { $case: 'acquire', value: wanted });
  }

  attach(held: Held): RecordedStream {
    const { call, t0 } = this.ask('attach', { name: held.name, ttlMs: held.ttlUs / 1000 }, held);
    return this.open(call, t0, { $case: 'leaseId', value: held.leaseId });
  }

  close(): void {
    for (const client of this.clients) client.close();
  }

  /** Records an event of this client or of one of its streams. */
  record(body: EventBody, at?: Micros): { at: Micros } {
    return this.recorder.record(body, at);
  }

  of(call: string): { client: string; call: string } {
    return { client: this.name, call };
  }

  granted(call: string, t0: Micros, lease: Lease | undefined): Held {
    const at = this.recorder.now();
    const held = heldOf(lease, t0, at);
    const { name, requestId, permitCount } = held;
    const token = Number(held.token);
    const body = { ...this.of(call), ...believed(held, t0), name, requestId, token, permitCount };
    this.record({ type: 'granted', ...body }, at);
    return held;
  }

  private ask(rpc: Asked['rpc'], wanted: EitherWanted, held: Held | undefined): { call: string; t0: Micros } {
    const call = this.newCall();
    const { at: t0 } = this.record({
      type: 'asked',
      ...this.of(call),
      rpc,
      name: wanted.name,
      requestId: held === undefined ? (wanted.requestId ?? null) : null,
      lease: held?.hash ?? null,
      mode: wanted.mode ?? 'exclusive',
      permitCount: wanted.permits ?? 1,
      ttlUs: (wanted.ttlMs ?? DEFAULT_TTL_MS) * 1000,
      waitTimeoutUs: wanted.waitMs === undefined ? null : wanted.waitMs * 1000,
    });
    return { call, t0 };
  }

  private open(call: string, t0: Micros, start: HoldStart<EitherWanted>): RecordedStream {
    return new RecordedStream(this, this.current.openHold(start), call, t0);
  }

  private answered<Answer>(call: string, answer: Promise<Answer>): Promise<Answer> {
    return answer.catch((error: unknown) => {
      const ending = endingOf(error);
      this.record({ type: 'ended', ...this.of(call), code: ending.code, reason: ending.reason ?? null });
      throw new CallEnded(ending);
    });
  }

  private get current(): EitherClient {
    const client = this.clients.at(-1);
    if (client === undefined) throw new Error('the client has no connection');
    return client;
  }

  private newCall(): string {
    callCount += 1;
    return `${this.name}-${process.pid}-${callCount}`;
  }
}

function believed({ hash, ttlUs, expireOffsetUs, deadline }: Held, t0: Micros) {
  return { lease: hash, ttlUs, t0, expireOffsetUs, deadline };
}
