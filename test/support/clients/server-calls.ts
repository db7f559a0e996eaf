import { credentials } from '@grpc/grpc-js';
import {
  ServerServiceClient,
  type EndQuarantineResponse,
  type GetServerInfoResponse,
} from '../../../generated/typescript/holdfast/v1/server_service';
import { OWN_CONNECTION, promised, type Done } from './unary-call';

export function serverInfo(address: string): Promise<GetServerInfoResponse> {
  return callOnce(address, (stub, done) => stub.getServerInfo({}, done));
}

export function endQuarantine(address: string, reason: string): Promise<EndQuarantineResponse> {
  return callOnce(address, (stub, done) => stub.endQuarantine({ reason }, done));
}

/** Makes one call on a new connection, and closes the connection. */
async function callOnce<Answer>(
  address: string,
  send: (stub: ServerServiceClient, done: Done<Answer>) => unknown,
): Promise<Answer> {
  const stub = new ServerServiceClient(address, credentials.createInsecure(), OWN_CONNECTION);
  try {
    return await promised<Answer>((done) => send(stub, done));
  } finally {
    stub.close();
  }
}
