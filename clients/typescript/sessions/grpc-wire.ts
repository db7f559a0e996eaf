import { Metadata, type ServiceError } from '@grpc/grpc-js';
import type { Server } from '../connection/servers';
import { channelCredentials, channelOptions, type TlsOptions } from '../connection/tls';
import {
  SessionServiceClient,
  type OpenSessionRequest,
  type OpenSessionResponse,
} from '../../../generated/typescript/holdfast/v1/session_service';

const CHANNEL = {
  // Each session has a connection of its own, so that other calls cannot delay its heartbeats.
  'grpc.use_local_subchannel_pool': 1,
  // The session client repeats commands itself, by their ids.
  'grpc.enable_retries': 0,
};

/** One stream of OpenSession. */
export interface Wire {
  /** `sent` is called when the stream takes the next message. */
  write(request: OpenSessionRequest, sent: () => void): void;
  halfClose(): void;
  /** Ends stream and connection. */
  destroy(): void;
}

export interface WireReader {
  response(response: OpenSessionResponse): void;
  /** Called once. Undefined: the stream ended with status OK. */
  ended(error: ServiceError | undefined): void;
}

/** Opens a stream on a new connection. Throws if a certificate file cannot be read. */
export type OpenWire = (server: Server, token: string | undefined, reader: WireReader) => Wire;

/** Streams over gRPC. A token is sent as a bearer token. */
export function grpcWires(tls: TlsOptions | true | undefined): OpenWire {
  return (server, token, reader) => {
    const client = new SessionServiceClient(server.address ?? server.given, channelCredentials(tls), {
      ...channelOptions(tls, server),
      ...CHANNEL,
    });
    const metadata = new Metadata();
    if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
    const call = client.openSession(metadata);
    let failure: ServiceError | undefined;
    call.on('data', (response: OpenSessionResponse) => reader.response(response));
    call.on('error', (error: ServiceError) => (failure = error));
    call.on('status', (status) => {
      client.close();
      const error = status.code === 0 ? undefined : Object.assign(new Error(status.details), status);
      reader.ended(failure ?? error);
    });
    return {
      write: (request, sent) => void call.write(request, sent),
      halfClose: () => void call.end(),
      destroy: () => {
        call.cancel();
        client.close();
      },
    };
  };
}
