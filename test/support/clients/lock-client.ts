import { credentials } from '@grpc/grpc-js';
import type { LockMode } from '../../../generated/typescript/holdfast/v1/lease';
import {
  AcquireLockRequest,
  ListLocksRequest,
  LockServiceClient,
  RevokeLockRequest,
  type ListLocksResponse,
  type Lock,
  type RevokeLockResponse,
  type WatchLockResponse,
} from '../../../generated/typescript/holdfast/v1/lock_service';
import { commonFields, LeaseClient, type ClientOptions, type LeaseView, type Wanted } from './lease-client';
import { OWN_CONNECTION, present } from './unary-call';
import { WatchStream } from './watch-stream';

export interface LockWanted extends Wanted {
  readonly mode?: LockMode;
}

/** The fields of a revocation. A field that a test leaves out is unset in the request. */
export type RevokeWanted = Partial<RevokeLockRequest> & Pick<RevokeLockRequest, 'name' | 'target'>;

/** A request of both services. */
export function revokeRequest(wanted: RevokeWanted): RevokeLockRequest {
  return { ...RevokeLockRequest.create(), ...wanted };
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
    const security = options.credentials ?? credentials.createInsecure();
    const stub = new LockServiceClient(address, security, channel);
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

  list(fields: Partial<ListLocksRequest> = {}): Promise<ListLocksResponse> {
    return this.unary(this.stub.listLocks, { ...ListLocksRequest.create(), ...fields });
  }

  watch(name: string): WatchStream<Lock, WatchLockResponse> {
    return new WatchStream(this.stub.watchLock({ name }), (message) => message.lock);
  }

  revoke(wanted: RevokeWanted): Promise<RevokeLockResponse> {
    return this.unary(this.stub.revokeLock, revokeRequest(wanted));
  }

  async view(name: string): Promise<LeaseView> {
    return { ...(await this.get(name)), limit: 1 };
  }
}
