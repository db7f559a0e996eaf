import { credentials } from '@grpc/grpc-js';
import {
  ServerServiceClient,
  type EndQuarantineResponse,
  type GetServerInfoResponse,
} from '../../generated/typescript/holdfast/v1/server_service';
import { OWN_CONNECTION } from '../support/lease-client';
import { answerOf } from './lease-stub';

export function serverInfo(address: string): Promise<GetServerInfoResponse> {
  return once(address, (stub) => answerOf((done) => stub.getServerInfo({}, done)));
}

/** An operator's word. */
export function endQuarantine(address: string, reason: string): Promise<EndQuarantineResponse> {
  return once(address, (stub) => answerOf((done) => stub.endQuarantine({ reason }, done)));
}

async function once<Answer>(
  address: string,
  ask: (stub: ServerServiceClient) => Promise<Answer>,
): Promise<Answer> {
  const stub = new ServerServiceClient(address, credentials.createInsecure(), OWN_CONNECTION);
  try {
    return await ask(stub);
  } finally {
    stub.close();
  }
}
