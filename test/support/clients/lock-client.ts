import { credentials } from '@grpc/grpc-js';
import type { LockMode } from '../../../generated/typescript/holdfast/v1/lease';
import {
  AcquireLockRequest,
  LockServiceClient,
  type Lock,
} from '../../../generated/typescript/holdfast/v1/lock_service';
import { commonFields, LeaseClient, OWN_CONNECTION, present, type Wanted } from './lease-client';

export * from './lease-client';

export interface LockWanted extends Wanted {
  readonly mode?: LockMode;
}

export function acquireRequest(wanted: LockWanted): AcquireLockRequest {
  const { mode } = wanted;
  return { ...AcquireLockRequest.create(mode === undefined ? {} : { mode }), ...commonFields(wanted) };
}

/** A client of LockService with a connection of its own. */
export class LockClient extends LeaseClient<LockServiceClient, LockWanted, AcquireLockRequest> {
  constructor(address: string) {
    const stub = new LockServiceClient(address, credentials.createInsecure(), OWN_CONNECTION);
    const rpcs = {
      acquire: stub.acquireLock,
      renew: stub.renewLock,
      release: stub.releaseLock,
      hold: stub.holdLock,
    };
    super(stub, rpcs, acquireRequest);
  }

  async get(name: string): Promise<Lock> {
    const { lock } = await this.unary(this.stub.getLock, { name });
    return present(lock);
  }
}
