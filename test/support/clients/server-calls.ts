import { credentials, type ServiceError } from '@grpc/grpc-js';
import {
  ServerServiceClient,
  type EndQuarantineResponse,
  type GetServerInfoResponse,
} from '../../../generated/typescript/holdfast/v1/server_service';
import { OWN_CONNECTION } from './lease-client';

export function serverInfo(address: string): Promise<GetServerInfoResponse> {
  return once(address, (stub, done) => stub.getServerInfo({}, done));
}

/** An operator's word. */
export function endQuarantine(address: string, reason: string): Promise<EndQuarantineResponse> {
  return once(address, (stub, done) => stub.endQuarantine({ reason }, done));
}

type Done<Answer> = (error: ServiceError | null, answer: Answer) => void;

async function once<Answer>(
  address: string,
  ask: (stub: ServerServiceClient, done: Done<Answer>) => unknown,
): Promise<Answer> {
  const stub = new ServerServiceClient(address, credentials.createInsecure(), OWN_CONNECTION);
  try {
    return await new Promise<Answer>((resolve, reject) =>
      ask(stub, (error, answer) => (error ? reject(error) : resolve(answer))),
    );
  } finally {
    stub.close();
  }
}
