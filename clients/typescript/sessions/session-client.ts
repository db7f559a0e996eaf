import { randomUUID } from 'node:crypto';
import { status, type ServiceError } from '@grpc/grpc-js';
import {
  isFinalAtConnect,
  isRefusedCredential,
  noToken,
  unreadableCertificate,
} from '../connection/failures';
import { Servers, type Turn } from '../connection/servers';
import type { BearerToken, TokenSource } from '../connection/token';
import { ClosedError, CredentialError, errorOfCall, noAnswer, type HoldfastError } from '../errors';
import { LONGEST_TIMER_MS, NUMBERS } from '../numbers';
import { pauseBeforeSession } from '../pauses';
import type { Acquire } from './acquire-intent';
import type { OpenWire } from './grpc-wire';
import type { Lease } from './lease';
import { OpenSession, type SessionKeeper } from './open-session';
import type { SessionNews } from './session-news';
import { SessionTasks } from './session-tasks';
import { TokenFetch } from './token-fetch';

export interface SessionSettings {
  /** Servers of one store. Each next session goes to the next server, or to the next address of a name. */
  readonly addresses: readonly string[];
  readonly openWire: OpenWire;
  /** Called before each session, with a time limit. */
  readonly token?: TokenSource | undefined;
  /** The same in all sessions. */
  readonly holderId?: string;
  /** The metadata of each acquire without metadata of its own. */
  readonly metadata?: ReadonlyMap<string, string>;
  readonly onNews?: (news: SessionNews) => void;
  /** The longest wait for the first answer of one of several addresses, before the first session (ms). */
  readonly addressTimeoutMs?: number | undefined;
}

const { credentialLifeUsed, firstAnswerMs, shortestFirstAnswerMs, shortestTokenLifeMs } = NUMBERS.session;

const NO_ANSWER = 'no server answered in time';

/**
 * All leases of this process, over one session after the other. A broken session ends no lease: the next session
 * attaches to the leases, and their deadlines decide how long the process may believe in them.
 */
export class SessionClient implements SessionKeeper {
  readonly servers: Servers;
  private readonly clientId = randomUUID();
  private readonly tasks = new SessionTasks((news) => this.settings.onNews?.(news));
  private readonly retired = new Set<OpenSession>();
  private current: OpenSession | undefined;
  private sessionCount = 0;
  private failures = 0;
  private refusals = 0;
  private openTimer: NodeJS.Timeout | undefined;
  private tokenTimer: NodeJS.Timeout | undefined;
  private endTimer: NodeJS.Timeout | undefined;
  private fetch: TokenFetch | undefined;
  private isOpening = false;
  private hasStarted = false;
  private connectUntil = Infinity;
  private closing: Promise<void> | undefined;
  /** No further session is opened after its abort. */
  private readonly ending = new AbortController();
  private isClosed = false;
  private failure: HoldfastError | undefined;
  private onEnded: (() => void) | undefined;
  private onReady: ((error?: HoldfastError) => void) | undefined;

  constructor(private readonly settings: SessionSettings) {
    this.servers = new Servers(settings.addresses);
    this.openAfter(0);
  }

  /** Waits for the first answer of a server. Rejects with a HoldfastError. */
  async ready(timeoutMs: number): Promise<void> {
    this.connectUntil = performance.now() + timeoutMs;
    const failure = await new Promise<HoldfastError | undefined>((resolve) => {
      const late = () => {
        const { lastError } = this.tasks;
        // The caller must mend the credential. The servers may be well.
        if (lastError instanceof CredentialError) return resolve(lastError);
        const text = this.fetch ? 'no server was asked: the token callback has not answered' : NO_ANSWER;
        resolve(noAnswer(text, lastError));
      };
      const timer = setTimeout(late, Math.min(timeoutMs, LONGEST_TIMER_MS));
      this.onReady = (error) => {
        clearTimeout(timer);
        resolve(error);
      };
    });
    this.onReady = undefined;
    if (failure) throw failure;
  }

  /** Rejects with a HoldfastError. */
  acquire(acquire: Acquire): Promise<Lease> {
    if (this.failure) return Promise.reject(this.failure);
    if (this.closing) return Promise.reject(new ClosedError());
    if (acquire.signal?.aborted) return Promise.reject(acquire.signal.reason as Error);
    return this.tasks.acquire(acquire);
  }

  /** The number of leases in which this process believes. */
  get leaseCount(): number {
    return this.tasks.leases.count;
  }

  /**
   * Releases all leases, ends all waits, waits for the answers, and ends the session. Leaves no timer and no socket. The
   * leases are lost with the cause CLOSED. After the time limit a lease without an answer is left to the end of its ttl.
   * A second call waits for the end of the first one.
   */
  close(timeoutMs = NUMBERS.limits.closeMs): Promise<void> {
    this.closing ??= this.end(timeoutMs);
    return this.closing;
  }

  /** Why no session lasts. Undefined: a session has started. */
  get trouble(): HoldfastError | undefined {
    return this.tasks.lastError;
  }

  private async end(timeoutMs: number): Promise<void> {
    this.onReady?.(new ClosedError());
    await this.tasks.finish(timeoutMs);
    this.ending.abort();
    clearTimeout(this.openTimer);
    clearTimeout(this.tokenTimer);
    this.fetch?.cancel();
    const { current } = this;
    if (current?.isStarted) {
      await new Promise<void>((resolve) => {
        this.onEnded = resolve;
        this.endTimer = setTimeout(resolve, timeoutMs);
        // The session ends within a second, with or without an answer.
        current.halfClose();
      });
      clearTimeout(this.endTimer);
    }
    this.isClosed = true;
    this.current?.leave();
    for (const session of this.retired) session.leave();
    this.tasks.close();
  }

  get shortestTtlMs(): number {
    return this.tasks.leases.shortestTtlMs;
  }

  started(session: OpenSession): void {
    this.failures = 0;
    this.hasStarted = true;
    this.tasks.lastError = undefined;
    this.onReady?.();
    this.settings.onNews?.({ kind: 'started', address: session.address });
  }

  leaving(session: OpenSession, delayMs: number): void {
    this.settings.onNews?.({ kind: 'leaving', address: session.address });
    if (session === this.current) this.openAfter(delayMs);
  }

  quiet(session: OpenSession): void {
    if (this.retired.has(session)) session.halfClose();
  }

  ended(session: OpenSession, reason: ServiceError | undefined, silent: boolean): void {
    this.retired.delete(session);
    if (session !== this.current || this.isClosed) return;
    const error = silent ? noAnswer(`${session.address} is silent`) : errorOfCall(reason);
    this.tasks.lastError = error;
    this.current = undefined;
    this.tasks.current = undefined;
    this.onEnded?.();
    if (this.onEnded) return;
    this.settings.onNews?.({ kind: 'ended', address: session.address, error });
    if (!session.isStarted) this.failures += 1;
    if (this.isFinal(error, reason)) return this.fail(error);
    this.openAfter(this.pauseAfter(error));
  }

  /**
   * A next session cannot help. After a first session has started, credentials and servers were right once, so leases and
   * waits outlast a time in which they are refused.
   */
  private isFinal(error: HoldfastError, reason: ServiceError | undefined): boolean {
    if (this.hasStarted) return false;
    if (isFinalAtConnect(error)) return true;
    if (isRefusedCredential(error)) return ++this.refusals > 1;
    return reason?.code === status.UNIMPLEMENTED && this.failures >= this.servers.count;
  }

  /** The deadlines of the held leases decide how long the work may go on. */
  private fail(error: HoldfastError): void {
    this.failure = error;
    this.tasks.fail(error);
    this.onReady?.(error);
  }

  private pauseAfter(error: HoldfastError): number {
    return pauseBeforeSession(this.failures, this.tasks.leases.nearestDeadlineMs(), error.retryAfterMs);
  }

  private openAfter(delayMs: number): void {
    clearTimeout(this.openTimer);
    if (this.isOpening || this.isEnding) return;
    this.openTimer = setTimeout(() => void this.openNext(), Math.min(delayMs, LONGEST_TIMER_MS));
  }

  private async openNext(): Promise<void> {
    this.isOpening = true;
    const opened = await this.prepared();
    this.isOpening = false;
    if (this.isEnding || this.failure) return;
    if (opened instanceof Error) return this.notOpened(opened);
    try {
      this.open(...opened);
    } catch (error) {
      this.notOpened(unreadableCertificate(error));
    }
  }

  /** What the next session needs, or why there is no token. */
  private async prepared(): Promise<[BearerToken | undefined, Turn] | HoldfastError> {
    this.fetch = new TokenFetch(this.settings.token);
    try {
      const bearer = await this.fetch.result;
      this.fetch = undefined;
      return [bearer, await this.servers.next(this.ending.signal)];
    } catch (error) {
      return noToken(error);
    } finally {
      this.fetch = undefined;
    }
  }

  private get isEnding(): boolean {
    return this.ending.signal.aborted;
  }

  private open(bearer: BearerToken | undefined, { server, leftCount }: Turn): void {
    const { holderId = '', metadata, openWire } = this.settings;
    const firstAnswerMs = this.firstAnswerMs(leftCount);
    this.sessionCount += 1;
    const start = {
      clientId: this.clientId,
      sessionNumber: BigInt(this.sessionCount),
      holderId,
      metadata: new Map(metadata),
    };
    const previous = this.current;
    this.current = new OpenSession(server, bearer?.token, start, openWire, this, firstAnswerMs);
    this.watchToken(bearer, this.current);
    // The previous session renews the leases until the next one has them.
    if (previous) this.retired.add(previous);
    this.tasks.moveTo(this.current);
    if (previous?.openCount === 0) previous.halfClose();
  }

  /** Before the first session, the addresses that were not asked yet, or all in a later round, share the time of `connect`. */
  private firstAnswerMs(leftCount: number): number {
    if (this.hasStarted) return firstAnswerMs;
    const shareMs = (this.connectUntil - performance.now()) / leftCount;
    const longestMs = (this.servers.count > 1 && this.settings.addressTimeoutMs) || firstAnswerMs;
    return Math.min(longestMs, Math.max(shortestFirstAnswerMs, shareMs));
  }

  /** The next attempt may find the token or the certificate. */
  private notOpened(error: HoldfastError): void {
    if (this.isEnding || this.failure) return;
    this.failures += 1;
    this.tasks.lastError = error;
    this.settings.onNews?.({ kind: 'ended', address: '', error });
    this.openAfter(this.pauseAfter(error));
  }

  private watchToken(bearer: BearerToken | undefined, session: OpenSession): void {
    clearTimeout(this.tokenTimer);
    const lifeMs = (bearer?.expiresInMs ?? Infinity) * credentialLifeUsed;
    if (!Number.isFinite(lifeMs)) return;
    const delayMs = Math.min(Math.max(lifeMs, shortestTokenLifeMs), LONGEST_TIMER_MS);
    this.tokenTimer = setTimeout(() => {
      // The session takes new acquires until the next one is open, because the next token may be late.
      if (session === this.current) this.openAfter(0);
    }, delayMs);
  }
}
