import type { Call, StreamCall } from '../base/call';
import type { Runtime } from '../base/runtime';
import type { Service } from './lease';
import type { LeaseId } from './lease-id';
import type { HoldStart, LeaseOwner, ReleaseResult, Renewal } from './lease-requests';

/**
 * Who speaks for a request and its lease, and how this server knows that the speaker lives. The engine has one way for
 * all of them, and asks here where they differ.
 *
 * ```
 *                     callLife              streamLife               sessionLife
 * the lease           renewed by calls      renewed here             renewed here
 * offsets count from  the call's receipt    the stream's opening     the latest heartbeat
 * age limit           the wait: CONTENDED   the stream: REATTACH     none
 * silent              never                 never                    no heartbeat for too long
 * gives up            with its call         with its call            by a cancel, and hears the outcome
 * ```
 *
 * A connection that does not answer its ping ends its calls and streams (rpc/entry/connections.ts).
 */
export interface Life {
  readonly kind: 'call' | 'stream' | 'session';
  /** The unary call, the stream, or the command of a session. */
  readonly call: Call;
  /** Stored with the waiter and the lease, for commands that only the speaker may send. */
  readonly attach: string;
  /**
   * True (a stream or a session): this server renews the lease while the speaker lives, and an acquire takes over a lease
   * that its request holds already. False: the client renews the lease, and such a lease is only reported.
   */
  readonly holds: boolean;
  /** An `expire_offset` that the client gets now counts from this time (ms, monotonic clock). */
  readonly offsetsFrom: number;
  /** When the wait, or the stream with the lease, must end, so that clock drift does not add up (ms). */
  ageLimitAt(ttlMs: number): number;
  /** Whether the client may have vanished, so that a lease that was granted at `grantedAt` is not renewed. */
  isSilent(now: number, grantedAt: number, ttlMs: number): boolean;
  /** Runs `listener` once at the next heartbeat of a silent client. */
  onNextHeartbeat(listener: () => void): void;
  /**
   * Runs `listener` once when the client gives the wait up, and still waits for the outcome. After the cancellation of
   * a gRPC call, no client waits.
   */
  onGivenUp(listener: () => void): void;
}

/** A command of a session, in the form of a call. */
export interface SessionCall extends Call {
  /** `<client process>/<session number>.<command id>`. The scripts compare the commands of one client process by these numbers. */
  readonly speaker: string;
  /** The heartbeats of the session. */
  readonly heartbeats: Heartbeats;
  /** As in Life. */
  onGivenUp(listener: () => void): void;
}

/** Makes the lives of one server. */
export class Lives {
  private attachCount = 0;

  constructor(
    private readonly runtime: Runtime,
    /** Identifies this process among all servers of the store; contains no dot. */
    private readonly serverId: string,
    private readonly maxAgeMs: number,
  ) {}

  callLife(call: Call): Life {
    return new CallLife('call', call, this.newAttach(''), this);
  }

  streamLife(call: StreamCall): Life {
    return new CallLife('stream', call, this.newAttach('s'), this);
  }

  sessionLife(call: SessionCall): Life {
    return new SessionLife(call, this.newAttach(`/${call.speaker}s`));
  }

  /**
   * The time at which a stream or a wait must end (docs/design/leases.md, rule 1). The server's clock is exact enough for
   * this limit: the lease continues after the limit, and the client's deadline comes from the offset alone. Without
   * jitter, all streams of a server would end together.
   */
  ageLimitAt({ receivedAt }: Call, ttlMs: number): number {
    const longestMs = Math.min(this.maxAgeMs, MAX_AGE_TTLS * ttlMs);
    return receivedAt + longestMs * (1 - JITTER * this.runtime.identities.random());
  }

  /**
   * An attach value that is unique among the calls of all servers. The scripts read its beginning (the server id), its
   * session, and its end ("s" if the speaker holds the lease).
   */
  private newAttach(end: string): string {
    this.attachCount += 1;
    return `${this.serverId}.${this.attachCount}${end}`;
  }
}

/** The longest age of a stream or a wait, in ttls. */
const MAX_AGE_TTLS = 200;
const JITTER = 0.1;

/** The client of a unary call or a hold stream lives while its call is open. */
class CallLife implements Life {
  constructor(
    readonly kind: 'call' | 'stream',
    readonly call: Call,
    readonly attach: string,
    private readonly lives: Lives,
  ) {}

  get holds(): boolean {
    return this.kind === 'stream';
  }

  get offsetsFrom(): number {
    return this.call.receivedAt;
  }

  ageLimitAt(ttlMs: number): number {
    return this.lives.ageLimitAt(this.call, ttlMs);
  }

  isSilent(): boolean {
    return false;
  }

  onNextHeartbeat(): void {
    throw new Error('a call has no heartbeats');
  }

  onGivenUp(): void {
    // The end of its call is the only end.
  }
}

/**
 * The client of a session lives while its heartbeats arrive. Its offsets count from the latest heartbeat, so drift does not
 * add up during a long wait, and there is no age limit.
 */
class SessionLife implements Life {
  constructor(
    readonly call: SessionCall,
    readonly attach: string,
  ) {}

  get kind(): 'session' {
    return 'session';
  }

  get holds(): boolean {
    return true;
  }

  get offsetsFrom(): number {
    return this.call.heartbeats.lastAt;
  }

  ageLimitAt(): number {
    return Infinity;
  }

  /** No heartbeat has arrived for the timeout or the ttl, whichever is less. */
  isSilent(now: number, grantedAt: number, ttlMs: number): boolean {
    const { lastAt, timeoutMs } = this.call.heartbeats;
    return now - Math.max(lastAt, grantedAt) >= Math.min(timeoutMs, ttlMs);
  }

  onNextHeartbeat(listener: () => void): void {
    this.call.heartbeats.onNext(listener);
  }

  onGivenUp(listener: () => void): void {
    this.call.onGivenUp(listener);
  }
}

/** The heartbeats of a session: the messages by which its client shows that it lives. */
export class Heartbeats {
  private readonly listeners: (() => void)[] = [];

  constructor(
    public id: number,
    /** The receipt of the latest heartbeat (ms, monotonic clock). Offsets count from this time. */
    public lastAt: number,
    /** No lease is renewed after this time without a heartbeat (ms), and one with a shorter ttl only for its ttl. */
    readonly timeoutMs: number,
  ) {}

  /** @param id above `this.id` */
  receive(id: number, receivedAt: number): void {
    this.id = id;
    this.lastAt = receivedAt;
    for (const listener of this.listeners.splice(0)) listener();
  }

  /** Runs `listener` once at the next heartbeat. */
  onNext(listener: () => void): void {
    this.listeners.push(listener);
  }
}

/** The engine of leases, as sessions use it. */
export interface SessionLeases {
  take(call: SessionCall, service: Service, start: HoldStart, owner: LeaseOwner): Promise<void>;
  releaseLease(call: Call, id: LeaseId): Promise<ReleaseResult>;
  renewLease(call: Call, id: LeaseId, renewal: Renewal): Promise<unknown>;
}
