import { getHeapStatistics } from 'node:v8';
import type { Clock, Timer } from '../../base/clock';
import { HoldfastError } from '../../base/errors';

const MIB = 1024 * 1024;
const SWEEP_INTERVAL_MS = 1000;
/** The largest number of requests that are refused in one turn of the event loop. Each refusal takes about 50 µs. */
const MOST_AT_ONCE = 64;
/** The pause before the next requests are refused. */
const SLICE_PAUSE_MS = 5;

/** The bounds of the requests that a server has received in part. */
export interface IntakeLimits {
  /** A longer message is large. No budget of bytes refuses a small message. */
  readonly smallBytes: number;
  /** The unfinished requests of one connection. Enough for thousands of calls that a client starts together. */
  readonly maxPerConnection: number;
  readonly maxPerServer: number;
  /** The announced bytes of the large messages of one connection, except messages of streams. */
  readonly maxBytesPerConnection: number;
  /** The buffered bytes of the large messages of all connections. */
  readonly maxBytesPerServer: number;
  readonly smallTimeoutMs: number;
  readonly largeTimeoutMs: number;
}

/** An unfinished request takes 10 to 40 kB, so a small heap has room for fewer of them. */
const MOST_UNFINISHED = Math.min(10_000, Math.floor(getHeapStatistics().heap_size_limit / (96 * 1024)));

export const defaultIntakeLimits: IntakeLimits = {
  smallBytes: 8192,
  maxPerConnection: MOST_UNFINISHED / 2,
  maxPerServer: MOST_UNFINISHED,
  maxBytesPerConnection: 32 * MIB,
  maxBytesPerServer: 64 * MIB,
  smallTimeoutMs: 10_000,
  largeTimeoutMs: 60_000,
};

/** Both counts are 0 if no request is unfinished and no large request is in memory. */
export interface IntakeStats {
  readonly requests: number;
  /** The bytes of large messages, also of complete messages until their calls end. */
  readonly bufferedBytes: number;
}

/** One request. The fields belong to UnfinishedRequests. */
export abstract class UnfinishedRequest {
  account: ConnectionAccount | undefined;
  firstSweep = 0;
  announcedBytes = 0;
  bufferedBytes = 0;

  /** Whether the request ends before others if the bytes of all connections are too many. */
  get endsFirst(): boolean {
    return false;
  }
  /** Whether the large messages of the request count against the connection. */
  abstract readonly countsForConnection: boolean;
  /** True while the server does not read from the client. The client is then not the cause of a delay. */
  abstract readonly paused: boolean;
  /** Ends the call with this error. False: the status waits until the client has read earlier messages. */
  abstract refuse(error: HoldfastError): boolean;
  /** Closes the stream, even if the client has not read the status. */
  abstract abort(): void;
}

interface ConnectionAccount {
  /** The oldest first. */
  readonly unfinished: Set<UnfinishedRequest>;
  announcedBytes: number;
}

/**
 * Bounds the number, the memory and the age of requests that have not arrived completely. A client that reaches the
 * bounds of its connection affects only itself. If all connections together reach a bound of the server, the server
 * ends the oldest large message, or the oldest call of the connection with the most unfinished calls. So a small call
 * of another connection is not refused.
 */
export class UnfinishedRequests {
  private readonly connections = new Map<object, ConnectionAccount>();
  /** The unfinished large messages, the oldest first. */
  private readonly large = new Set<UnfinishedRequest>();
  /** The unfinished large messages that end before those in `large`, the oldest first. */
  private readonly endingFirst = new Set<UnfinishedRequest>();
  /** Refused requests with a status that the client has not read, from before the last sweep. */
  private refusedBefore: UnfinishedRequest[] = [];
  /** The same, since the last sweep. */
  private refusedNow: UnfinishedRequest[] = [];
  private refusals = 0;
  private counted = 0;
  private bufferedBytes = 0;
  /** Ages are counted in sweeps: a process that was paused, or was busy for long, must not find all requests too old. */
  private sweeps = 0;
  private timer: Timer | undefined;
  private sliceTimer: Timer | undefined;
  private closed = false;

  constructor(
    private readonly clock: Clock,
    private readonly limits: IntakeLimits,
    /** Called at most once a second. */
    private readonly onRefusals: (count: number) => void,
  ) {}

  get count(): number {
    return this.counted;
  }

  stats(): IntakeStats {
    const { counted, bufferedBytes } = this;
    return { requests: counted, bufferedBytes };
  }

  isLarge(bytes: number): boolean {
    return bytes > this.limits.smallBytes;
  }

  /** Counts a request until `finish`. May refuse the request. */
  begin(request: UnfinishedRequest, connection: object): void {
    const account = this.accountOf(connection);
    request.account = account;
    request.firstSweep = this.sweeps;
    this.scheduleSweep();
    if (account.unfinished.size >= this.limits.maxPerConnection) {
      this.refuse(request, tooManyOnConnection(this.limits));
      return;
    }
    account.unfinished.add(request);
    this.counted += 1;
    if (this.counted > this.limits.maxPerServer) this.endOldestOfBusiest();
  }

  /** Counts the announced length of a message against its connection until `release`. May refuse the request. */
  announce(request: UnfinishedRequest, bytes: number): void {
    const { account } = request;
    if (!this.isLarge(bytes) || account === undefined) return;
    request.announcedBytes += bytes;
    if (request.countsForConnection) account.announcedBytes += bytes;
    if (account.announcedBytes > this.limits.maxBytesPerConnection) {
      this.refuse(request, tooManyBytesOnConnection(this.limits));
    }
  }

  /** Counts a buffer until `release`, if its message is large. May refuse this request and others. */
  grow(request: UnfinishedRequest, bytes: number): void {
    if (request.announcedBytes === 0) return;
    request.bufferedBytes += bytes;
    this.bufferedBytes += bytes;
    (request.endsFirst ? this.endingFirst : this.large).add(request);
    for (const requests of [this.endingFirst, this.large]) {
      for (const oldest of requests) {
        if (this.bufferedBytes <= this.limits.maxBytesPerServer) return;
        if (!oldest.paused) this.refuse(oldest, tooManyBytesOnServer(this.limits));
      }
    }
  }

  /** The request has arrived. Its bytes count until `release`, because the request is still in memory. */
  finish(request: UnfinishedRequest): void {
    if (request.account?.unfinished.delete(request) === true) this.counted -= 1;
    this.large.delete(request);
    this.endingFirst.delete(request);
  }

  /** The request is no longer in memory. Safe to call twice. */
  release(request: UnfinishedRequest): void {
    this.finish(request);
    const { account, announcedBytes, bufferedBytes } = request;
    if (account !== undefined && request.countsForConnection) account.announcedBytes -= announcedBytes;
    this.bufferedBytes -= bufferedBytes;
    request.announcedBytes = 0;
    request.bufferedBytes = 0;
    request.account = undefined;
  }

  /** Stops the timer. */
  close(): void {
    this.closed = true;
    this.timer?.cancel();
    this.sliceTimer?.cancel();
  }

  private accountOf(connection: object): ConnectionAccount {
    let account = this.connections.get(connection);
    if (account === undefined) {
      account = { unfinished: new Set(), announcedBytes: 0 };
      this.connections.set(connection, account);
    }
    return account;
  }

  private refuse(request: UnfinishedRequest, error: HoldfastError): void {
    this.release(request);
    this.refusals += 1;
    if (!request.refuse(error)) this.refusedNow.push(request);
  }

  /** Ends some requests at a time, because the search for the connection takes time. */
  private endOldestOfBusiest(): void {
    let busiest: ConnectionAccount | undefined;
    for (const account of this.connections.values()) {
      if (account.unfinished.size > (busiest?.unfinished.size ?? 0)) busiest = account;
    }
    let left = Math.min(Math.ceil(this.limits.maxPerServer / 8), MOST_AT_ONCE);
    for (const request of busiest?.unfinished ?? []) {
      this.refuse(request, tooManyOnServer(this.limits));
      left -= 1;
      if (left === 0) return;
    }
  }

  private scheduleSweep(): void {
    if (this.closed) return;
    this.timer ??= this.clock.after(SWEEP_INTERVAL_MS, () => this.sweep());
  }

  private sweep(): void {
    this.timer = undefined;
    this.sweeps += 1;
    if (this.sliceTimer === undefined) this.refuseOld();
    for (const request of this.refusedBefore) request.abort();
    this.refusedBefore = this.refusedNow;
    this.refusedNow = [];
    if (this.refusals > 0) this.onRefusals(this.refusals);
    this.refusals = 0;
    if (this.connections.size > 0 || this.refusedBefore.length > 0) this.scheduleSweep();
  }

  /** Refuses old requests, at most `MOST_AT_ONCE` in one turn of the event loop. */
  private refuseOld(): void {
    this.sliceTimer = undefined;
    let left = MOST_AT_ONCE;
    for (const [connection, account] of this.connections) {
      left -= this.refuseOldOf(connection, account, left);
      if (left > 0) continue;
      this.sliceTimer = this.clock.after(SLICE_PAUSE_MS, () => this.refuseOld());
      return;
    }
  }

  /** Returns the number of refused requests. */
  private refuseOldOf(connection: object, account: ConnectionAccount, most: number): number {
    const { smallTimeoutMs, largeTimeoutMs } = this.limits;
    let count = 0;
    for (const request of account.unfinished) {
      const ageMs = (this.sweeps - request.firstSweep) * SWEEP_INTERVAL_MS;
      if (ageMs <= smallTimeoutMs || count === most) break;
      if (request.paused) {
        this.restartAge(request, account);
        continue;
      }
      const timeoutMs = request.announcedBytes > 0 ? largeTimeoutMs : smallTimeoutMs;
      if (ageMs <= timeoutMs) continue;
      this.refuse(request, tooSlow(timeoutMs));
      count += 1;
    }
    if (account.unfinished.size === 0 && account.announcedBytes === 0) this.connections.delete(connection);
    return count;
  }

  private restartAge(request: UnfinishedRequest, { unfinished }: ConnectionAccount): void {
    request.firstSweep = this.sweeps;
    unfinished.delete(request);
    unfinished.add(request);
  }
}

function tooManyOnConnection({ maxPerConnection }: IntakeLimits): HoldfastError {
  return quotaExceeded(
    `this connection already has ${maxPerConnection} calls without a complete request; complete the requests first`,
    maxPerConnection,
  );
}

function tooManyBytesOnConnection({ maxBytesPerConnection: limit }: IntakeLimits): HoldfastError {
  return quotaExceeded(
    `the large requests in progress on this connection would be more than ${limit} bytes; wait for earlier answers, or send smaller requests`,
    limit,
  );
}

function tooSlow(timeoutMs: number): HoldfastError {
  return quotaExceeded(
    `the request did not arrive within ${timeoutMs / 1000} s, and nothing of it was done; send the whole request at once`,
    timeoutMs,
  );
}

function quotaExceeded(text: string, limit: number): HoldfastError {
  return new HoldfastError('QUOTA_EXCEEDED', text, { metadata: { limit: String(limit) } });
}

function tooManyOnServer({ maxPerServer }: IntakeLimits): HoldfastError {
  return new HoldfastError(
    'OVERLOADED',
    `this server already has ${maxPerServer} calls without a complete request, most of them on this connection; nothing was done; try again`,
  );
}

function tooManyBytesOnServer({ maxBytesPerServer }: IntakeLimits): HoldfastError {
  return new HoldfastError(
    'OVERLOADED',
    `this server is receiving more than ${maxBytesPerServer} bytes of large requests, and this request is the oldest; nothing of it was done; try again`,
  );
}
