import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CallOptions,
  type ChannelCredentials,
  type ChannelOptions,
  type Client,
  type ClientOptions,
  type ClientUnaryCall,
  credentials,
  InterceptingCall,
  type Interceptor,
  type Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { holdfastError } from '../../../clients/typescript';
import {
  type HealthCheckResponse,
  HealthClient,
  type HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../../generated/typescript/grpc/health/v1/health';
import {
  type EndQuarantineResponse,
  type GetServerInfoResponse,
  ServerServiceClient,
} from '../../../generated/typescript/holdfast/v1/server_service';

/** Options of a channel with a connection of its own, on which the library retries nothing. */
export const OWN_CONNECTION = {
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_retries': 0,
} as const satisfies ChannelOptions;

/** A unary method of a generated stub. */
export type Method<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: Partial<CallOptions>,
  callback: Done<Response>,
) => ClientUnaryCall;

type Done<Answer> = (error: ServiceError | null, answer: Answer) => void;

/** A unary call as a promise, which rejects with the error that gRPC reports. */
export function promised<Answer>(send: (done: Done<Answer>) => unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    send((error, answer) => (error === null ? resolve(answer) : reject(error)));
  });
}

/** The message of a good answer. Throws if the message is missing. */
export function present<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('the answer lacks its message');
  return value;
}

/** The status and the reason of an ended call, in the contract's words. */
export interface Ending {
  /** The gRPC status code, such as OK or ABORTED. */
  readonly code: string;
  /** The reason, such as CONTENDED. Undefined if no Holdfast server set a reason. */
  readonly reason: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  readonly retryAfterMs: number | undefined;
  readonly pushback: string | undefined;
  readonly text: string;
}

export const OK: Ending = {
  code: 'OK',
  reason: undefined,
  metadata: {},
  retryAfterMs: undefined,
  pushback: undefined,
  text: '',
};

/** Rethrows an error that is not a gRPC status. */
export function endingOf(error: unknown): Ending {
  if (!(error instanceof Error) || !('code' in error)) throw error;
  const { code, details, metadata } = error as ServiceError;
  const fault = holdfastError(error);
  return {
    code: status[code],
    reason: fault?.reason,
    metadata: Object.fromEntries(fault?.metadata ?? []),
    retryAfterMs: fault?.retryAfterMs,
    pushback: metadata.get('grpc-retry-pushback-ms')[0]?.toString(),
    text: details,
  };
}

/** The ending of a call that must fail. */
export async function refusal(call: Promise<unknown>): Promise<Ending> {
  const answer = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('error' in answer) return endingOf(answer.error);
  throw new Error(`the call must fail, but it answered ${String(answer.value)}`);
}

/** Repeats the call while the server answers OVERLOADED, as a client of a busy server does. */
export async function patiently<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const { reason, retryAfterMs } = endingOf(error);
      if (reason !== 'OVERLOADED') throw error;
      await sleep(retryAfterMs ?? 0);
    }
  }
}

/** As `refusal`, for a call that is repeated while the server answers OVERLOADED. */
export function patientRefusal(call: () => Promise<unknown>): Promise<Ending> {
  return refusal(patiently(call));
}

/** The options of a client that sends this token with each call. */
export function bearer(token: string | undefined): ChannelOptions {
  if (token === undefined) return {};
  const interceptor: Interceptor = (options, nextCall) =>
    new InterceptingCall(nextCall(options), {
      start: (metadata, listener, next) => {
        metadata.set('authorization', `Bearer ${token}`);
        next(metadata, listener);
      },
    });
  const options: ClientOptions = { interceptors: [interceptor] };
  return options;
}

export function serverInfo(address: string): Promise<GetServerInfoResponse> {
  return callOnce(ServerServiceClient, address, (stub, done) => stub.getServerInfo({}, done));
}

export function endQuarantine(address: string, reason: string): Promise<EndQuarantineResponse> {
  return callOnce(ServerServiceClient, address, (stub, done) => stub.endQuarantine({ reason }, done));
}

/** The health of a service, by default of the whole server. */
export async function health(address: string, service = ''): Promise<ServingStatus> {
  const answer = await callOnce<HealthClient, HealthCheckResponse>(HealthClient, address, (stub, done) =>
    stub.check({ service }, done),
  );
  return answer.status;
}

export interface HealthWatch {
  /** All statuses so far, in order. */
  readonly statuses: readonly ServingStatus[];
  /** Resolves when the stream has ended, with or without an error. */
  readonly ended: Promise<void>;
  close(): void;
}

/** Watches the health of the whole server on a new connection. */
export function watchHealth(address: string): HealthWatch {
  const stub = new HealthClient(address, credentials.createInsecure(), OWN_CONNECTION);
  const statuses: ServingStatus[] = [];
  const stream = stub.watch({ service: '' });
  stream.on('data', ({ status }: HealthCheckResponse) => statuses.push(status));
  const ended = new Promise<void>((resolve) => stream.on('error', () => resolve()).on('end', resolve));
  return { statuses, ended, close: () => stub.close() };
}

/** Makes one call on a new connection, and closes the connection. */
async function callOnce<Stub extends Client, Answer>(
  Service: new (address: string, credentials: ChannelCredentials, options: ChannelOptions) => Stub,
  address: string,
  send: (stub: Stub, done: Done<Answer>) => unknown,
): Promise<Answer> {
  const stub = new Service(address, credentials.createInsecure(), OWN_CONNECTION);
  try {
    return await promised<Answer>((done) => send(stub, done));
  } finally {
    stub.close();
  }
}
