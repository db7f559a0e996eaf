import { inspect } from 'node:util';
import { AutocompleteServiceService as autocomplete } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { Feature, ServerServiceService } from '../../generated/typescript/holdfast/v1/server_service';
import { DictionaryClient, type Dictionary } from './autocomplete/dictionary';
import { RecentsClient, type Recents } from './autocomplete/recents';
import type { CallChannel, Method } from './calls/call-channel';
import {
  CALL,
  RAW_CALL,
  WATCH,
  type CallOptions,
  type RawCallOptions,
  type WatchOptions,
} from './calls/call-options';
import { watch } from './calls/watch';
import { withCaller } from './caller-stack';
import { ElectionClient, type Election } from './election';
import { ContendedError, type HoldfastError } from './errors';
import { checkedIfGiven, checkedOptions, type Known } from './known-options';
import type { Body, Lease } from './lease-types';
import {
  lockAcquire,
  permitsAcquire,
  TRY_LOCK,
  TRY_PERMITS,
  type LockOptions,
  type PermitsOptions,
  type TryLockOptions,
  type TryPermitsOptions,
} from './leases/options';
import { SemaphoreLimits } from './leases/semaphore-limits';
import { optionsAndBody, runUnderLease } from './leases/run-under-lease';
import { NUMBERS } from './numbers';
import type { Acquire } from './sessions/acquire-intent';
import type { Lease as HeldLease } from './sessions/lease';
import { handleOf } from './sessions/lease-handle';
import type { SessionClient } from './sessions/session-client';
import type { SessionNews } from './sessions/session-news';
import { inSpan, type Tracer } from './telemetry';
import { toMs, type TimeSpan } from './time-span';

export interface ServerInfo {
  readonly version: string;
  /** The names of Feature without their prefix, for example SESSIONS. Features that this client does not know are left out. */
  readonly features: readonly string[];
}

export interface CloseOptions {
  /** The longest wait for the answers. Default: 5 s. A server without an answer does not hear of the releases. */
  readonly timeout?: TimeSpan | undefined;
}

const CLOSE: Known<CloseOptions> = { timeout: true };

/** A client. The type has public members only, so a test can pass a plain object. */
export type Holdfast = Pick<HoldfastClient, keyof HoldfastClient>;

/** A client of the servers of one store. `connect` makes the client. Close it before the process ends. */
export class HoldfastClient {
  private readonly limits: SemaphoreLimits;

  /** @internal */
  constructor(
    private readonly session: SessionClient,
    private readonly channel: CallChannel,
    private readonly tell: (news: SessionNews) => void,
    private readonly tracer: Tracer | undefined,
  ) {
    this.limits = new SemaphoreLimits(channel, tell);
  }

  /**
   * Waits for the lock, runs `body`, and releases the lock. On a loss of the lease, `lease.signal` aborts, and the promise
   * rejects with a LeaseLostError as soon as `body` has ended. Rejects with a ContendedError after `wait`.
   */
  withLock<T>(name: string, body: Body<T>): Promise<T>;
  withLock<T>(name: string, options: LockOptions, body: Body<T>): Promise<T>;
  async withLock<T>(name: string, second: LockOptions | Body<T>, third?: Body<T>): Promise<T> {
    const [options, body] = optionsAndBody<LockOptions, Body<T>>(second, third);
    return runUnderLease(await this.acquire(lockAcquire(name, options)), body);
  }

  /** Waits for the permits, runs `body`, and releases them, as `withLock` does. */
  withPermits<T>(name: string, body: Body<T>): Promise<T>;
  withPermits<T>(name: string, options: PermitsOptions, body: Body<T>): Promise<T>;
  async withPermits<T>(name: string, second: PermitsOptions | Body<T>, third?: Body<T>): Promise<T> {
    const [options, body] = optionsAndBody<PermitsOptions, Body<T>>(second, third);
    return runUnderLease(await this.acquire(permitsAcquire(name, options)), body);
  }

  /** Waits for the lock. Release the lease, or declare it with `await using`. Rejects with a HoldfastError. */
  async lock(name: string, options: LockOptions = {}): Promise<Lease> {
    return this.handle(await this.acquire(lockAcquire(name, options)));
  }

  /** Waits for permits of a semaphore, as `lock` does. */
  async permits(name: string, options: PermitsOptions = {}): Promise<Lease> {
    return this.handle(await this.acquire(permitsAcquire(name, options)));
  }

  /** Tries once. Resolves with undefined if others hold the lock or wait for it. */
  async tryLock(name: string, options: TryLockOptions = {}): Promise<Lease | undefined> {
    return unlessContended(this.lock(name, { ...checkedOptions(options, TRY_LOCK), wait: 0 }));
  }

  /** Tries once. Resolves with undefined if too few permits are free, or if others wait for them. */
  async tryPermits(name: string, options: TryPermitsOptions = {}): Promise<Lease | undefined> {
    return unlessContended(this.permits(name, { ...checkedOptions(options, TRY_PERMITS), wait: 0 }));
  }

  election(name: string): Election {
    const lock = (name: string, options: LockOptions) => this.acquire(lockAcquire(name, options));
    const handle = <Held extends HeldLease>(lease: Held) => this.handle(lease);
    return new ElectionClient(name, { lock, handle }, this.channel);
  }

  /** The latest choices of one user. */
  recents(list: string): Recents {
    return new RecentsClient(this.channel, list);
  }

  dictionary(name: string): Dictionary {
    return new DictionaryClient(this.channel, name);
  }

  /** The names of all dictionaries with this prefix, in order. */
  async *dictionaryNames(prefix = '', options?: CallOptions): AsyncGenerator<string, void, undefined> {
    checkedIfGiven(options, CALL);
    const request = { namePrefix: prefix, pageSize: NUMBERS.entries.pageSize, pageToken: '' };
    do {
      const page = await this.channel.unary(autocomplete.listDictionaries, request, options);
      for (const { name } of page.dictionaries) yield name;
      request.pageToken = page.nextPageToken;
    } while (request.pageToken !== '');
  }

  async serverInfo(options?: CallOptions): Promise<ServerInfo> {
    checkedIfGiven(options, CALL);
    const { version, features } = await this.channel.unary(ServerServiceService.getServerInfo, {}, options);
    const names = features.flatMap((one) => Feature[one] ?? []);
    return { version, features: names.map((name) => name.replace('FEATURE_', '')) };
  }

  /**
   * Any unary call of the contract, for what this class does not offer: `hf.call(LockServiceService.getLock, { name })`,
   * with the stub from `@holdfast/client/stubs/lock_service`. Repeated after a broken connection unless `isIdempotent` is false. Rejects with a
   * HoldfastError.
   */
  async call<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    options?: RawCallOptions,
  ): Promise<Response> {
    checkedIfGiven(options, RAW_CALL);
    return this.channel.unary(method, request, options);
  }

  /**
   * Any stream of the contract that tells a state at once and then its changes, for example WatchLock. Opened again after a
   * break. Ends when `signal` aborts. Rejects with a ClosedError when the client is closed.
   */
  watch<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    options?: WatchOptions,
  ): AsyncGenerator<Response, void, undefined> {
    return watch(this.channel, method, request, checkedIfGiven(options, WATCH));
  }

  /** The number of leases that this process holds. */
  get leaseCount(): number {
    return this.session.leaseCount;
  }

  /** Why no server serves the session now. Undefined: a session is open. Leases and waits go on until their deadlines. */
  get trouble(): HoldfastError | undefined {
    return this.session.trouble;
  }

  /**
   * Ends all waits, releases all leases, and waits up to 5 s, or up to `timeout`, for the answers. Leaves no timer and no socket. End the
   * work that needs a lease first: each lease that is still held is lost with the cause CLOSED. The lease of a running
   * `withLock` is released at the end of its body. If the body does not end within this time, its lease is left to the end of
   * the ttl. A lease without a body is released at once. A second call waits for the end of the first one. A process that
   * ends without `close` leaves its leases to the ends of their ttl.
   */
  async close(options?: CloseOptions): Promise<void> {
    const { timeout } = checkedIfGiven(options, CLOSE) ?? {};
    await this.session.close(timeout === undefined ? undefined : toMs(timeout, 'timeout'));
    this.channel.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @internal A log shows neither the ids of leases nor a token. */
  toJSON(): object {
    return { leaseCount: this.leaseCount };
  }

  /** @internal */
  [inspect.custom](): string {
    return `Holdfast ${inspect(this.toJSON())}`;
  }

  private handle<Held extends HeldLease>(lease: Held): Held {
    return handleOf(lease, ({ name }) => this.tell({ kind: 'forgotten', name }));
  }

  private acquire(acquire: Acquire): Promise<HeldLease> {
    const attributes = { 'holdfast.kind': acquire.kind, 'holdfast.name': acquire.name };
    const grant = (one: Acquire) => this.session.acquire(one);
    return withCaller(this.acquire, () =>
      inSpan(this.tracer, 'holdfast.acquire', attributes, () => this.limits.acquire(acquire, grant)),
    );
  }
}

async function unlessContended(lease: Promise<Lease>): Promise<Lease | undefined> {
  try {
    return await lease;
  } catch (error) {
    if (error instanceof ContendedError) return undefined;
    throw error;
  }
}
