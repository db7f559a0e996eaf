import { Client, Metadata, status, type CallOptions, type ServiceError } from '@grpc/grpc-js';
import { channelCredentials, channelOptions, type TlsOptions } from '../connection/tls';
import type { TokenSource } from '../connection/token';
import { ClosedError, errorOfCall, type HoldfastError } from '../errors';
import { NUMBERS } from '../numbers';
import { pauseBeforeRepeat } from '../pauses';
import { either, onAbort, pause } from './abort';
import { inSpan, type Tracer } from '../telemetry';

/** One method of a generated service definition. */
export interface Method<Request, Response> {
  readonly path: string;
  readonly requestSerialize: (value: Request) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

export interface CallSettings {
  readonly addresses: readonly string[];
  readonly tls: TlsOptions | true | undefined;
  readonly token: TokenSource | undefined;
  readonly tracer: Tracer | undefined;
}

export interface CallLimits {
  /** Ends the call. The promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The longest time of the call, retries included. Default: 10 s. */
  readonly timeoutMs?: number;
  /** A second run does no harm, so the call is repeated after a broken connection too. Default: true. */
  readonly isIdempotent?: boolean;
}

const { callIsRepeated, idempotentCallIsRepeated, credentialIsFetchedOnceMore } = NUMBERS.reasons;
const REPEATED: ReadonlySet<string> = new Set(callIsRepeated);
/** The empty reason belongs to a broken connection. */
const REPEATED_IF_IDEMPOTENT: ReadonlySet<string> = new Set([...idempotentCallIsRepeated, '']);
const CREDENTIAL: ReadonlySet<string> = new Set(credentialIsFetchedOnceMore);

/** The calls outside of the session, on a connection of their own, to one of several servers. */
export class CallChannel {
  private client: Client | undefined;
  private index = 0;
  private readonly closing = new AbortController();

  constructor(private readonly settings: CallSettings) {}

  /** Repeats the call at the next server where a repetition helps. Rejects with a HoldfastError. */
  unary<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    limits: CallLimits = {},
  ): Promise<Response> {
    const { tracer } = this.settings;
    const name = method.path.slice(1);
    const ends = either(limits.signal, this.closed);
    return inSpan(tracer, name, { 'rpc.system': 'grpc' }, () =>
      this.repeat(method, request, limits, ends.signal),
    ).finally(() => ends.dispose());
  }

  /** The metadata of a stream. */
  async metadata(): Promise<Metadata> {
    const metadata = new Metadata();
    const bearer = await this.settings.token?.();
    if (bearer) metadata.set('authorization', `Bearer ${bearer.token}`);
    return metadata;
  }

  /** The client of the current server, for a stream. */
  get current(): Client {
    if (this.closing.signal.aborted) throw new ClosedError();
    this.client ??= this.open();
    return this.client;
  }

  /** Later calls go to the next server. Without effect if other calls have already left the server of `client`. */
  leave(client: Client): void {
    if (client !== this.client) return;
    this.index += 1;
    this.client = undefined;
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

  private open(): Client {
    const { addresses, tls } = this.settings;
    const address = addresses[this.index % addresses.length] ?? '';
    return new Client(address, channelCredentials(tls), {
      ...channelOptions(tls),
      // The session has a connection of its own, so that calls cannot delay its heartbeats.
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_retries': 0,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 1000,
    });
  }

  private async repeat<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    { timeoutMs = NUMBERS.limits.callMs, isIdempotent = true }: CallLimits,
    ends: AbortSignal,
  ): Promise<Response> {
    const until = performance.now() + timeoutMs;
    let credentialFailures = 0;
    for (let attempts = 1; ; attempts++) {
      const client = this.current;
      try {
        return await this.once(client, method, request, until - performance.now(), ends);
      } catch (error) {
        ends.throwIfAborted();
        const failed = errorOfCall(error as ServiceError);
        const isCredential = CREDENTIAL.has(failed.reason);
        if (isCredential ? ++credentialFailures > 1 : !isRepeated(failed, isIdempotent)) throw failed;
        if (failed.code === status.UNAVAILABLE) this.leave(client);
        const pauseMs = isCredential ? 0 : pauseBeforeRepeat(attempts, failed.retryAfterMs);
        if (performance.now() + pauseMs >= until) throw failed;
        await pause(pauseMs, ends);
      }
    }
  }

  private async once<Request, Response>(
    client: Client,
    method: Method<Request, Response>,
    request: Request,
    timeoutMs: number,
    ends: AbortSignal,
  ): Promise<Response> {
    const metadata = await this.metadata();
    ends.throwIfAborted();
    const options: CallOptions = { deadline: Date.now() + Math.max(0, timeoutMs) };
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
          if (error) reject(error);
          else resolve(response as Response);
        },
      );
      const remove = onAbort(ends, () => call.cancel());
    });
  }
}

function isRepeated({ reason, code }: HoldfastError, isIdempotent: boolean): boolean {
  if (REPEATED.has(reason)) return true;
  return isIdempotent && REPEATED_IF_IDEMPOTENT.has(reason) && code === status.UNAVAILABLE;
}
