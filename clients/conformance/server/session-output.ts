import type { ServerDuplexStream } from '@grpc/grpc-js';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { LossCause } from '../../../generated/typescript/holdfast/v1/lease';
import type { SessionEvent } from '../../../generated/typescript/holdfast/v1/session_service';
import {
  OpenSessionResponse,
  SessionEndCause,
  SessionStarted,
  type OpenSessionRequest,
} from '../../../generated/typescript/holdfast/v1/session_service';
import { msToDuration } from '../../../src/rpc/wire';
import type { Behaviour } from './behaviour';
import type { Holding } from './resource';

/** A response, with bytes of fields that the contract does not know. */
export interface RawResponse {
  readonly response: OpenSessionResponse;
  readonly unknown: Uint8Array;
}

export type SessionCall = ServerDuplexStream<OpenSessionRequest, RawResponse>;

/** An offset counts from the heartbeat that its message names, so it is computed when the message is made. */
type LateEvent = () => SessionEvent;

/** The responses of one session. What is sent in one turn leaves in one message. */
export class SessionOutput {
  /** The receipts of the heartbeats (ms, monotonic clock). */
  private readonly receipts = new Map<number, number>();
  private latest = 0;
  private named = 0;
  private started: SessionStarted | undefined;
  private events: LateEvent[] = [];
  private renewals = new Map<bigint, Holding>();
  private renewedTtl = new Map<bigint, number>();
  private unknown: Uint8Array[] = [];
  private leavingMs: number | undefined;
  private intervalMs: number | undefined;
  private isDue = false;
  private isEnded = false;

  constructor(
    private readonly call: SessionCall,
    private readonly behaviour: Behaviour,
    private readonly log: (text: string) => void,
  ) {}

  start(): void {
    const { heartbeatTimeoutMs, maxCommandCount, heartbeatIntervalMs } = this.behaviour;
    this.started = SessionStarted.create({
      heartbeatTimeout: msToDuration(heartbeatTimeoutMs),
      ...{ maxCommandCount, maxMessageBytes: 2 ** 20, maxUnfinishedCount: 10_000, maxLeaseCount: 100_000 },
    });
    this.interval(heartbeatIntervalMs);
  }

  heartbeat(id: number): void {
    this.receipts.set(id, performance.now());
    this.latest = id;
    if (id === 1 || this.behaviour.echo) this.echo();
  }

  /** Names the latest heartbeat. */
  echo(): void {
    if (this.latest === this.named || this.isEnded) return;
    this.named = this.latest;
    this.soon();
  }

  interval(ms: number): void {
    this.intervalMs = ms;
    this.soon();
  }

  event(make: LateEvent): void {
    this.events.push(make);
    this.soon();
  }

  granted(number: bigint, held: Holding): void {
    this.event(() => {
      const { leaseId, wanted, token } = held;
      const lease = {
        ...{ leaseId, name: wanted.name, requestId: wanted.requestId, fencingToken: token },
        ...{ permitCount: wanted.permits, ttl: msToDuration(wanted.ttlMs), expireOffset: this.offset(held) },
      };
      return { commandId: number, event: { $case: 'granted', value: { lease } } };
    });
  }

  renewalFailed(number: bigint, held: Holding): void {
    this.event(() => {
      const value = { expireOffset: this.offset(held), cause: LossCause.LOSS_CAUSE_STORE_UNAVAILABLE };
      return { commandId: number, event: { $case: 'renewalFailed', value } };
    });
  }

  renewal(number: bigint, held: Holding, ttlMs?: number): void {
    this.renewals.set(number, held);
    if (ttlMs !== undefined) this.renewedTtl.set(number, ttlMs);
    this.soon();
  }

  /** A lease without a further renewal, because its end is queued. */
  /** A number is a cause that the contract does not know. */
  ended(number: bigint, cause: string | number): void {
    this.renewals.delete(number);
    const known = SessionEndCause[`SESSION_END_CAUSE_${cause}` as keyof typeof SessionEndCause];
    const value = { cause: typeof cause === 'number' ? (cause as SessionEndCause) : known };
    this.event(() => ({ commandId: number, event: { $case: 'ended', value } }));
  }

  leaving(delayMs: number): void {
    this.leavingMs = delayMs;
    this.soon();
  }

  /** An event of a kind that the contract does not know, and an unknown field of the response. */
  unknownEvent(number: bigint): void {
    const event = new BinaryWriter()
      .uint32(8)
      .int64(number)
      .uint32((15 << 3) | 2)
      .bytes(new Uint8Array([8, 1]));
    const unknown = new BinaryWriter().uint32(34).bytes(event.finish()).uint32(800).int64(1).finish();
    this.unknown.push(unknown);
    this.soon();
  }

  end(): void {
    this.isEnded = true;
  }

  /** Sends now what is due. */
  flush(): void {
    this.isDue = false;
    if (this.isEnded || this.behaviour.silent || (this.named === 0 && !this.started)) return this.forget();
    const message = this.take();
    this.log(JSON.stringify(OpenSessionResponse.toJSON(message.response)));
    this.call.write(message);
  }

  /** Nothing that this session has told so far is believed later than this. */
  private offset(held: Holding): ReturnType<typeof msToDuration> {
    const { nameHeartbeat, addOffsetMs } = this.behaviour;
    const now = performance.now();
    const receipt = this.receipts.get(this.named) ?? now;
    held.toldAt = Math.min(held.toldAt, now);
    // Clocks may drift by 0.05 %, as the real server assumes.
    const offset = held.until - receipt - held.wanted.ttlMs * 0.0005 + addOffsetMs;
    const base = this.receipts.get(nameHeartbeat ?? this.named);
    const until = base === undefined ? -Infinity : base + offset;
    // A deadline that has passed stays passed. A lease that was never told has none.
    const isPassed = held.believableUntil !== -Infinity && held.believableUntil <= now;
    if (!isPassed) held.believableUntil = Math.max(held.believableUntil, until);
    return msToDuration(offset);
  }

  private take(): RawResponse {
    const response = OpenSessionResponse.create({
      ...(this.started && { started: this.started }),
      ...(this.intervalMs !== undefined && { heartbeatInterval: msToDuration(this.intervalMs) }),
      heartbeatId: BigInt(this.behaviour.nameHeartbeat ?? this.named),
      events: this.events.map((make) => make()),
      renewals: [...this.renewals].map(([leaseNumber, held]) => {
        const ttlMs = this.renewedTtl.get(leaseNumber);
        const expireOffset = this.offset(held);
        return { leaseNumber, expireOffset, ttl: ttlMs === undefined ? undefined : msToDuration(ttlMs) };
      }),
      ...(this.leavingMs !== undefined && { leaving: { retryDelay: msToDuration(this.leavingMs) } }),
    });
    const unknown = Buffer.concat(this.unknown);
    this.started = undefined;
    this.forget();
    return { response, unknown };
  }

  private forget(): void {
    this.intervalMs = undefined;
    this.events = [];
    this.renewals.clear();
    this.renewedTtl.clear();
    this.unknown = [];
    this.leavingMs = undefined;
  }

  private soon(): void {
    if (this.isDue) return;
    this.isDue = true;
    setImmediate(() => this.isDue && this.flush());
  }
}
