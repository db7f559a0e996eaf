import {
  credentials,
  Metadata,
  type CallOptions,
  type ChannelCredentials,
  type ClientReadableStream,
  type ClientUnaryCall,
  type ServiceError,
} from '@grpc/grpc-js';
import { AutocompleteServiceClient } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { HealthClient } from '../../generated/typescript/grpc/health/v1/health';
import { AcquireLockRequest, LockServiceClient } from '../../generated/typescript/holdfast/v1/lock_service';
import { type Feature, ServerServiceClient } from '../../generated/typescript/holdfast/v1/server_service';
import type { AutocompleteLimits } from '../../src/autocomplete/suggestion';
import { systemClock, type Clock } from '../../src/base/clock';
import type { Reason } from '../../src/base/errors';
import { defaultLimits } from '../../src/leases/lease';
import { defaultSessionLimits, type SessionLimits } from '../../src/leases/sessions/session-requests';
import { Sessions } from '../../src/leases/sessions/sessions';
import { type AccessSettings, openAccess, type OpenedAccess } from '../../src/access/open-access';
import type { Log } from '../../src/base/log';
import type { MethodMeter } from '../../src/rpc/entry/call-meters';
import type { OfferedCall, OfferedService } from '../../src/rpc/service';
import { GrpcServer } from '../../src/server/grpc-server';
import { offerAutocomplete, offerLeases } from '../../src/server/products';
import type { IntakeLimits, IntakeStats } from '../../src/rpc/entry/unfinished';
import type { Address } from '../../src/rpc/entry/grpc-js';
import { fakeAutocomplete, fakePermits, FakeStore } from './fake-engines';
import { runtimeOn } from '../support/manual-clock';

/**
 * How often a server looks for changes of its files, if a test changes them (`access.intervalMs`). Only then, because a look at
 * all files takes a millisecond of a core.
 */
export const RELOAD_MS = 50;

/** One log line of the transport. */
export interface Logged {
  readonly level: string;
  readonly fields: Record<string, unknown>;
  readonly message: string;
}

export interface HarnessOptions {
  readonly address?: Address;
  /** The interval of the pings on each connection, and the timeout of their answers. */
  readonly keepaliveMs?: number;
  readonly autocompleteLimits?: AutocompleteLimits;
  readonly sessionLimits?: Partial<SessionLimits>;
  readonly intakeLimits?: IntakeLimits;
  /** Who may call. Default: every caller, without TLS. */
  readonly access?: AccessSettings;
  /** The time by which credentials end. Default: that of the system. */
  readonly accessClock?: Clock | undefined;
  readonly connectionMaxAgeMs?: number;
  readonly reflection?: boolean;
  /** Further services. */
  readonly services?: readonly OfferedService[];
  /** The features of the leases, as a server of another version has them. Default: all. */
  readonly features?: readonly Feature[];
}

function logInto(lines: Logged[]): Log {
  const write =
    (level: string) =>
    (fields: object, message: string): void => {
      lines.push({ level, fields: { ...fields }, message });
    };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

/** The gRPC server in this process with fake engines, and its clients. */
export class Harness {
  readonly permits = fakePermits();
  readonly autocomplete: ReturnType<typeof fakeAutocomplete>['engine'];
  readonly importSession: ReturnType<typeof fakeAutocomplete>['session'];
  readonly store = new FakeStore();
  logged: Logged[] = [];
  /** The audit log. */
  audited: Logged[] = [];
  target = '';
  readonly leases: ReturnType<typeof offerLeases>;
  private readonly queries: ReturnType<typeof offerAutocomplete>;
  private readonly server: GrpcServer;
  private readonly opened: OpenedAccess;
  private readonly closers: (() => void)[] = [];

  private constructor(options: HarnessOptions, log: Log, auditLog: Log, opened: OpenedAccess) {
    const { keepaliveMs, intakeLimits, services = [], features } = options;
    ({ engine: this.autocomplete, session: this.importSession } = fakeAutocomplete());
    const { permits, autocomplete } = this;
    this.opened = opened;
    const sessions = new Sessions({
      runtime: runtimeOn(systemClock),
      engine: permits.engine,
      limits: { ...defaultSessionLimits, ...options.sessionLimits },
    });
    this.leases = offerLeases({
      engine: { ...permits.engine, drain: () => permits.drain() },
      sessions,
      limits: defaultLimits,
      clock: systemClock,
    });
    this.queries = offerAutocomplete({
      engine: { ...autocomplete.engine, drain: () => void autocomplete.drain() },
      limits: options.autocompleteLimits,
      clock: systemClock,
    });
    this.server = new GrpcServer({
      products: [{ ...this.leases, ...(features && { features }) }, this.queries, { services }],
      store: this.store,
      limits: defaultLimits,
      intakeLimits,
      version: '1.2.3',
      clock: systemClock,
      log,
      auditLog,
      keepaliveTimeMs: keepaliveMs ?? 10_000,
      keepaliveTimeoutMs: keepaliveMs ?? 5000,
      access: opened.access,
      authorization: opened.authorization,
      accounts: opened.accounts,
      connectionMaxAgeMs: options.connectionMaxAgeMs,
      reflection: options.reflection,
    });
  }

  static async start(options: HarnessOptions = {}): Promise<Harness> {
    const logged: Logged[] = [];
    const audited: Logged[] = [];
    const log = logInto(logged);
    const opened = await openAccess(options.access ?? {}, options.accessClock ?? systemClock, log);
    const harness = new Harness(options, log, logInto(audited), opened);
    Object.assign(harness, { logged, audited });
    harness.closers.push(() => opened.close());
    const address = options.address ?? { kind: 'tcp', host: '127.0.0.1', port: 0 };
    harness.target = await harness.server.listen(address, opened.credentials);
    return harness;
  }

  locks(): LockServiceClient {
    return this.client(LockServiceClient);
  }

  completions(): AutocompleteServiceClient {
    return this.client(AutocompleteServiceClient);
  }

  health(): HealthClient {
    return this.client(HealthClient);
  }

  info(): ServerServiceClient {
    return this.client(ServerServiceClient);
  }

  /** Each client has its own connection. */
  client<C extends { close(): void }>(
    type: new (target: string, creds: ChannelCredentials, options: object) => C,
    channel = credentials.createInsecure(),
  ): C {
    const client = new type(this.target, channel, {
      'grpc.use_local_subchannel_pool': 1,
    });
    this.closers.push(() => client.close());
    return client;
  }

  /** The number of open calls that the policy is checked for. */
  get openCalls(): number | undefined {
    return this.opened.authorization?.size;
  }

  /** All calls, by path. */
  get offered(): ReadonlyMap<string, OfferedCall> {
    return this.server.offered;
  }

  /** The counts of the calls of a method, by its name without the service. */
  meterOf(method: string): MethodMeter {
    const meter = [...this.server.calls.all()].find((one) => one.method === method);
    if (meter === undefined) throw new Error(`there is no method ${method}`);
    return meter;
  }

  /** The number of failed queries of SuggestStream with this reason. */
  queryFailures(reason: Reason): number {
    return new Map(this.queries.failures.all()).get(reason) ?? 0;
  }

  /** Counts of the requests that have not arrived completely. */
  get unfinished(): IntakeStats {
    return this.server.unfinishedRequests();
  }

  /** As a server that loads the dictionaries of its start. */
  setLoading(isLoading: boolean): void {
    this.server.setLoading(isLoading);
  }

  drain(timeoutMs = 1000): Promise<void> {
    return this.server.drain(timeoutMs);
  }

  async close(): Promise<void> {
    for (const close of this.closers) close();
    await this.server.drain(200);
  }
}

type UnaryMethod<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: Partial<CallOptions>,
  callback: (error: ServiceError | null, response: Response) => void,
) => ClientUnaryCall;

/** Resolves to the answer of the call, or rejects with grpc-js's error. */
export function call<Request, Response>(
  client: object,
  method: UnaryMethod<Request, Response>,
  request: Request,
  options: Partial<CallOptions> & { metadata?: Metadata } = {},
): Promise<Response> {
  const { metadata = new Metadata(), ...rest } = options;
  return new Promise((resolve, reject) => {
    method.call(client, request, metadata, rest, (error, response) => {
      if (error === null) resolve(response);
      else reject(error);
    });
  });
}

/** Resolves to the error of a call that must fail. */
export async function failureOf(pending: Promise<unknown>): Promise<ServiceError> {
  const outcome = await pending.then(
    (answer) => ({ answer }),
    (error: ServiceError) => error,
  );
  if (outcome instanceof Error) return outcome;
  throw new Error(`expected an error, got ${JSON.stringify(Object.keys(outcome.answer as object))}`);
}

/** Resolves to all messages of a stream, and to its error unless the stream ends OK. */
export function drainStream<Message>(
  stream: ClientReadableStream<Message>,
): Promise<{ messages: Message[]; error: ServiceError | undefined }> {
  const messages: Message[] = [];
  return new Promise((resolve) => {
    stream.on('data', (message: Message) => messages.push(message));
    stream.on('error', (error: ServiceError) => resolve({ messages, error }));
    stream.on('end', () => resolve({ messages, error: undefined }));
  });
}

export const UUID_V4 = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';
export const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

/** A valid request with the given fields. */
export function acquireRequest(fields: Partial<AcquireLockRequest> = {}): AcquireLockRequest {
  return { ...AcquireLockRequest.create({ name: 'hello' }), ...fields };
}
