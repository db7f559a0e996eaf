import { randomUUID } from 'node:crypto';
import {
  credentials as grpcCredentials,
  status,
  type ChannelCredentials,
  type ServiceError,
} from '@grpc/grpc-js';
import { aborted, type LockOptions, type PermitsOptions, type Wanted } from './acquire-intent';
import { grpcWires, type OpenWire } from './grpc-wire';
import type { Lease } from './lease';
import type { SessionNews } from './session-news';
import { OpenSession, type SessionKeeper } from './open-session';
import { pauseBeforeSession } from './pauses';
import { SessionTasks } from './session-tasks';
import { SessionError } from './session-error';

export interface BearerToken {
  readonly token: string;
  /** The next session is opened with a new token before this time has passed. Unset: the token does not end. */
  readonly expiresInMs?: number;
}

export interface SessionOptions {
  /** Servers of one store, "host:port". Each next session goes to the next server. */
  readonly addresses: readonly string[];
  /** Default: no TLS. */
  readonly credentials?: ChannelCredentials;
  /** Called before each session. */
  readonly token?: () => BearerToken | Promise<BearerToken>;
  /** A label that others see. The same in all sessions. */
  readonly holderId?: string;
  /** The metadata of each acquire without metadata of its own. */
  readonly metadata?: ReadonlyMap<string, string>;
  readonly onNews?: (news: SessionNews) => void;
  /** @internal For tests. */
  readonly openWire?: OpenWire;
}

const CLOSE_TIMEOUT_MS = 5000;
/** The next session is opened after this share of the life of a token. */
const TOKEN_SHARE = 0.8;
const CREDENTIAL_REASONS = new Set(['NO_CREDENTIAL', 'BAD_CREDENTIAL']);

/**
 * All leases of this process, over one session after the other. A broken session ends no lease: the next session
 * attaches to the leases, and their deadlines decide how long the process may believe in them.
 */
export class SessionClient implements SessionKeeper {
  private readonly clientId = randomUUID();
  private readonly tasks = new SessionTasks((news) => this.options.onNews?.(news));
  private readonly retired = new Set<OpenSession>();
  private readonly openWire: OpenWire;
  private current: OpenSession | undefined;
  private sessionCount = 0;
  private failures = 0;
  private refusals = 0;
  private openTimer: NodeJS.Timeout | undefined;
  private tokenTimer: NodeJS.Timeout | undefined;
  private isFetching = false;
  private isClosing = false;
  private isClosed = false;
  private failure: SessionError | undefined;
  private onEnded: (() => void) | undefined;

  constructor(private readonly options: SessionOptions) {
    if (options.addresses.length === 0) throw new RangeError('a session needs at least one address');
    this.openWire = options.openWire ?? grpcWires(options.credentials ?? grpcCredentials.createInsecure());
    this.openAfter(0);
  }

  /** Rejects with a SessionError. */
  acquireLock(name: string, options: LockOptions = {}): Promise<Lease> {
    return this.acquire({ kind: 'lock', name, options });
  }

  /** Rejects with a SessionError. */
  acquirePermits(name: string, options: PermitsOptions = {}): Promise<Lease> {
    return this.acquire({ kind: 'permits', name, options });
  }

  /** The number of leases in which this process believes. */
  get leaseCount(): number {
    return this.tasks.leases.count;
  }

  /**
   * Releases all leases, ends all waits, waits for the answers, and ends the session. Leaves no timer and no socket.
   * After the time limit a lease without an answer is left to the end of its ttl.
   */
  async close(timeoutMs = CLOSE_TIMEOUT_MS): Promise<void> {
    if (this.isClosing) return;
    this.isClosing = true;
    await this.tasks.finish(new SessionError('the client is closed', 'CLOSED'), timeoutMs);
    const { current } = this;
    if (current?.isStarted) {
      await new Promise<void>((resolve) => {
        this.onEnded = resolve;
        current.halfClose();
      });
    }
    this.isClosed = true;
    clearTimeout(this.openTimer);
    clearTimeout(this.tokenTimer);
    this.current?.leave();
    for (const session of this.retired) session.leave();
    this.tasks.close();
  }

  get shortestTtlMs(): number {
    return this.tasks.leases.shortestTtlMs;
  }

  started(session: OpenSession): void {
    this.failures = 0;
    this.refusals = 0;
    this.options.onNews?.({ kind: 'started', address: session.address });
  }

  leaving(session: OpenSession, delayMs: number): void {
    this.options.onNews?.({ kind: 'leaving', address: session.address });
    if (session === this.current) this.openAfter(delayMs);
  }

  quiet(session: OpenSession): void {
    if (this.retired.has(session)) session.halfClose();
  }

  ended(session: OpenSession, reason: ServiceError | undefined, silent: boolean): void {
    const error = silent
      ? new SessionError('the server is silent', 'NO_ANSWER')
      : SessionError.ofStream(reason);
    const wasCurrent = session === this.current;
    this.retired.delete(session);
    if (!wasCurrent || this.isClosed) return;
    this.current = undefined;
    this.tasks.current = undefined;
    this.onEnded?.();
    if (this.onEnded) return;
    this.options.onNews?.({ kind: 'ended', address: session.address, error });
    if (!session.isStarted) this.failures += 1;
    if (this.isFinal(session, error, reason)) return this.fail(error);
    const pauseMs = pauseBeforeSession(this.failures, this.tasks.leases.nearestDeadlineMs());
    this.openAfter(error.reason === 'OVERLOADED' ? Math.max(pauseMs, error.retryAfterMs ?? 0) : pauseMs);
  }

  private acquire(wanted: Wanted): Promise<Lease> {
    const { signal } = wanted.options;
    if (this.failure) return Promise.reject(this.failure);
    if (this.isClosing) return Promise.reject(new SessionError('the client is closed', 'CLOSED'));
    if (signal?.aborted) return Promise.reject(aborted());
    return this.tasks.acquire(wanted, signal);
  }

  /** A next session cannot help. */
  private isFinal(session: OpenSession, error: SessionError, reason: ServiceError | undefined): boolean {
    if (error.reason === 'INVALID_FIELD') return true;
    if (CREDENTIAL_REASONS.has(error.reason) && !session.isStarted) return ++this.refusals > 1;
    return reason?.code === status.UNIMPLEMENTED && this.failures >= this.options.addresses.length;
  }

  /** The deadlines of the held leases decide how long the work may go on. */
  private fail(error: SessionError): void {
    this.failure = error;
    this.tasks.fail(error);
  }

  private openAfter(delayMs: number): void {
    clearTimeout(this.openTimer);
    if (!this.isFetching) this.openTimer = setTimeout(() => void this.openNext(), delayMs);
  }

  private async openNext(): Promise<void> {
    const { addresses, holderId = '', metadata } = this.options;
    let bearer: BearerToken | undefined;
    this.isFetching = true;
    try {
      bearer = await this.options.token?.();
    } catch (error) {
      this.isFetching = false;
      this.failures += 1;
      const failed = new SessionError(`no token: ${(error as Error).message}`, 'NO_CREDENTIAL');
      this.options.onNews?.({ kind: 'ended', address: '', error: failed });
      return this.openAfter(pauseBeforeSession(this.failures, this.tasks.leases.nearestDeadlineMs()));
    }
    this.isFetching = false;
    if (this.isClosed || this.failure) return;
    const address = addresses[this.sessionCount % addresses.length] ?? '';
    this.sessionCount += 1;
    const start = {
      clientId: this.clientId,
      sessionNumber: BigInt(this.sessionCount),
      holderId,
      metadata: new Map(metadata),
    };
    const previous = this.current;
    this.current = new OpenSession(address, bearer?.token, start, this.openWire, this);
    this.watchToken(bearer, this.current);
    // The previous session renews the leases until the next one has them.
    if (previous) this.retired.add(previous);
    this.tasks.moveTo(this.current);
    if (previous?.openCount === 0) previous.halfClose();
  }

  private watchToken(bearer: BearerToken | undefined, session: OpenSession): void {
    clearTimeout(this.tokenTimer);
    if (bearer?.expiresInMs === undefined) return;
    this.tokenTimer = setTimeout(() => {
      if (session !== this.current) return;
      session.isLeaving = true;
      this.openAfter(0);
    }, bearer.expiresInMs * TOKEN_SHARE);
  }
}

/** Opens a session for all leases of this process. Close the client before the process ends. */
export function openSession(options: SessionOptions): SessionClient {
  return new SessionClient(options);
}
