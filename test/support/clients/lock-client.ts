import { credentials } from '@grpc/grpc-js';
import type { LockMode } from '../../../generated/typescript/holdfast/v1/lease';
import {
  AcquireLockRequest,
  LockServiceClient,
  type Lock,
} from '../../../generated/typescript/holdfast/v1/lock_service';
import { commonFields, LeaseClient, type ClientOptions, type LeaseView, type Wanted } from './lease-client';
import { OWN_CONNECTION, present } from './unary-call';

export interface LockWanted extends Wanted {
  readonly mode?: LockMode;
}

export function acquireRequest(wanted: LockWanted): AcquireLockRequest {
  const { mode } = wanted;
  return { ...AcquireLockRequest.create(mode === undefined ? {} : { mode }), ...commonFields(wanted) };
}

/** A client of LockService with a connection of its own. */
export class LockClient<Asked extends Wanted = LockWanted> extends LeaseClient<
  LockServiceClient,
  Asked,
  AcquireLockRequest
> {
  constructor(
    address: string,
    options: ClientOptions = {},
    toRequest: (wanted: Asked) => AcquireLockRequest = acquireRequest,
  ) {
    const channel = { ...OWN_CONNECTION, ...options.channel };
    const stub = new LockServiceClient(address, credentials.createInsecure(), channel);
    const rpcs = {
      acquire: stub.acquireLock,
      renew: stub.renewLock,
      release: stub.releaseLock,
      hold: stub.holdLock,
    };
    super(stub, rpcs, toRequest, options);
  }

  async get(name: string): Promise<Lock> {
    const { lock } = await this.unary(this.stub.getLock, { name });
    return present(lock);
  }

  async view(name: string): Promise<LeaseView> {
    return { ...(await this.get(name)), limit: 1 };
  }
}
