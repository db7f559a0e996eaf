import { credentials, type ChannelCredentials, type ChannelOptions, type Client } from '@grpc/grpc-js';
import {
  HealthClient,
  type HealthCheckResponse,
  type HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../../generated/typescript/grpc/health/v1/health';
import {
  ServerServiceClient,
  type EndQuarantineResponse,
  type GetServerInfoResponse,
} from '../../../generated/typescript/holdfast/v1/server_service';
import { OWN_CONNECTION, promised, type Done } from './unary-call';

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
