import { Client, Metadata, status, type CallOptions as GrpcOptions, type ServiceError } from '@grpc/grpc-js';
import { noToken, unreadableCertificate } from '../connection/failures';
import type { Server, Servers } from '../connection/servers';
import { channelCredentials, channelOptions, type TlsOptions } from '../connection/tls';
import type { TokenSource } from '../connection/token';
import { ClosedError, errorOfCall, type HoldfastError } from '../errors';
import { NUMBERS } from '../numbers';
import { withCaller } from '../caller-stack';
import { inSpan, type Tracer } from '../telemetry';
import { either, onAbort, pause, unlessAborted } from './abort';
import { attemptMs, timeoutOf, type RawCallOptions } from './call-options';
import { isBroken, Repetition } from './repetition';

/** One method of a generated service definition. */
export interface Method<Request, Response> {
  readonly path: string;
  readonly requestSerialize: (value: Request) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

export interface CallSettings {
  readonly servers: Servers;
  readonly tls?: TlsOptions | true | undefined;
  readonly token?: TokenSource | undefined;
  readonly tracer?: Tracer | undefined;
  /** Default: `NUMBERS.calls.keepaliveMs`. */
  readonly keepaliveMs?: number;
  /** Default: `NUMBERS.calls.keepaliveTimeoutMs`. */
  readonly keepaliveTimeoutMs?: number;
}

/** What a call needs. */
export interface Prepared {
  readonly client: Client;
  readonly metadata: Metadata;
}

/** The calls outside of the session, on a connection of their own, to one of several servers. */
export class CallChannel {
  private client: Client | undefined;
  /** The next client, while its server is looked up. */
  private opening: Promise<Client> | undefined;
  /** The start of the first call since the last answer of the current server. */
  private silentSince: number | undefined;
  private readonly closing = new AbortController();

  constructor(private readonly settings: CallSettings) {}

  /** Repeats the call at the next server where a repetition helps. Rejects with a HoldfastError. */
  unary<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    options: RawCallOptions = {},
    defaultMs = NUMBERS.limits.callMs,
  ): Promise<Response> {
    const { tracer } = this.settings;
    const name = method.path.slice(1);
    const run = async (): Promise<Response> => {
      const timeoutMs = timeoutOf(options, defaultMs);
      const ends = either(options.signal, this.closed);
      return this.repeat(method, request, timeoutMs, options.isIdempotent ?? true, ends.signal).finally(() =>
        ends.dispose(),
      );
    };
    return withCaller(this.unary, () => inSpan(tracer, name, { 'rpc.system': 'grpc' }, run));
  }

  /**
   * Fetches the token, and opens the connection to the current server. Rejects with a HoldfastError, or with the reason of
   * `ends`.
   *
   * @param timeoutMs the longest time for the token, and for the look-up of the server
   */
  async prepare(ends: AbortSignal, timeoutMs = NUMBERS.limits.callMs): Promise<Prepared> {
    ends.throwIfAborted();
    if (this.closing.signal.aborted) throw new ClosedError();
    const { token } = this.settings;
    if (token === undefined && this.client) return { client: this.client, metadata: new Metadata() };
    const bounded = either(ends, this.closed, timeoutMs);
    try {
      const metadata = token ? await unlessAborted(withToken(token), bounded.signal) : new Metadata();
      const client = this.client ?? (await unlessAborted(this.open(), bounded.signal));
      ends.throwIfAborted();
      return { client, metadata };
    } finally {
      bounded.dispose();
    }
  }

  /** Takes note of a failed call or stream: later calls leave a broken connection. */
  failed(client: Client, error: HoldfastError): void {
    if (client !== this.client) return;
    const isLate = error.reason === '' && error.code === status.DEADLINE_EXCEEDED;
    // The caller's own short timeout says little about the server.
    if (isLate && performance.now() - (this.silentSince ?? Infinity) < NUMBERS.calls.silenceMs) return;
    this.silentSince = undefined;
    if (isBroken(error)) this.leave(client);
  }

  /** Later calls go to the next server. Without effect if other calls have already left the server of `client`. */
  leave(client: Client): void {
    if (client !== this.client) return;
    this.client = undefined;
    this.silentSince = undefined;
    client.close();
  }

  /** Aborts when the channel is closed. */
  get closed(): AbortSignal {
    return this.closing.signal;
  }

  close(): void {
    this.closing.abort(new ClosedError());
    this.client?.close();
  }

  /** One client for all calls that wait for it. Rejects with a HoldfastError. */
  private open(): Promise<Client> {
    this.opening ??= this.openNext().finally(() => (this.opening = undefined));
    return this.opening;
  }

  private async openNext(): Promise<Client> {
    const { server } = await this.settings.servers.next(this.closed);
    this.closed.throwIfAborted();
    try {
      this.client = this.clientOf(server);
    } catch (error) {
      throw unreadableCertificate(error);
    }
    return this.client;
  }

  private clientOf(server: Server): Client {
    const { tls, keepaliveMs, keepaliveTimeoutMs } = this.settings;
    return new Client(server.address ?? server.given, channelCredentials(tls), {
      ...channelOptions(tls, server),
      // The session has a connection of its own, so that calls cannot delay its heartbeats.
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_retries': 0,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 1000,
      // A watch that hears nothing finds a dead connection. An idle connection without calls is not pinged.
      'grpc.keepalive_time_ms': keepaliveMs ?? NUMBERS.calls.keepaliveMs,
      'grpc.keepalive_timeout_ms': keepaliveTimeoutMs ?? NUMBERS.calls.keepaliveTimeoutMs,
      'grpc.keepalive_permit_without_calls': 0,
    });
  }

  private async repeat<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    timeoutMs: number,
    isIdempotent: boolean,
    ends: AbortSignal,
  ): Promise<Response> {
    const until = performance.now() + timeoutMs;
    const repetition = new Repetition(isIdempotent);
    for (;;) {
      let client: Client | undefined;
      try {
        const prepared = await this.prepare(ends, until - performance.now());
        ({ client } = prepared);
        const longestMs = attemptMs(until - performance.now(), isIdempotent);
        return await this.once(prepared, method, request, longestMs, ends);
      } catch (error) {
        ends.throwIfAborted();
        const failed = errorOfCall(error as ServiceError);
        if (client) this.failed(client, failed);
        const pauseMs = repetition.pauseAfter(failed, client !== undefined);
        if (pauseMs === undefined || performance.now() + pauseMs >= until) throw failed;
        await pause(pauseMs, ends);
      }
    }
  }

  private async once<Request, Response>(
    { client, metadata }: Prepared,
    method: Method<Request, Response>,
    request: Request,
    timeoutMs: number,
    ends: AbortSignal,
  ): Promise<Response> {
    this.silentSince ??= performance.now();
    const options: GrpcOptions = { deadline: Date.now() + Math.max(0, timeoutMs) };
    return new Promise((resolve, reject) => {
      const { path, requestSerialize, responseDeserialize } = method;
      const call = client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        metadata,
        options,
        (error, response) => {
          remove();
          if (error) return reject(error);
          if (client === this.client) this.silentSince = undefined;
          resolve(response as Response);
        },
      );
      const remove = onAbort(ends, () => call.cancel());
    });
  }
}

async function withToken(source: TokenSource): Promise<Metadata> {
  const metadata = new Metadata();
  try {
    const { token } = await source();
    metadata.set('authorization', `Bearer ${token}`);
  } catch (error) {
    throw noToken(error);
  }
  return metadata;
}
