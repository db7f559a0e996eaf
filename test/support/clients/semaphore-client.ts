import { credentials } from '@grpc/grpc-js';
import {
  AcquirePermitsRequest,
  ListSemaphoresRequest,
  SemaphoreServiceClient,
  type ListSemaphoresResponse,
  type RevokePermitsResponse,
  type Semaphore,
  type WatchSemaphoreResponse,
} from '../../../generated/typescript/holdfast/v1/semaphore_service';
import { commonFields, LeaseClient, type ClientOptions, type Wanted } from './lease-client';
import { revokeRequest, type RevokeWanted } from './lock-client';
import { OWN_CONNECTION, present } from './unary-call';
import { WatchStream } from './watch-stream';

export interface LeaseWanted extends Wanted {
  readonly permitCount?: number;
  readonly initialLimit?: number;
}

export function acquirePermitsRequest(wanted: LeaseWanted): AcquirePermitsRequest {
  const { permitCount, initialLimit } = wanted;
  return { ...AcquirePermitsRequest.create(), permitCount, initialLimit, ...commonFields(wanted) };
}

/** A client of SemaphoreService with a connection of its own. */
export class SemaphoreClient<Asked extends Wanted = LeaseWanted> extends LeaseClient<
  SemaphoreServiceClient,
  Asked,
  AcquirePermitsRequest
> {
  constructor(
    address: string,
    options: ClientOptions = {},
    toRequest: (wanted: Asked) => AcquirePermitsRequest = acquirePermitsRequest,
  ) {
    const channel = { ...OWN_CONNECTION, ...options.channel };
    const stub = new SemaphoreServiceClient(address, credentials.createInsecure(), channel);
    const rpcs = {
      acquire: stub.acquirePermits,
      renew: stub.renewPermits,
      release: stub.releasePermits,
      hold: stub.holdPermits,
    };
    super(stub, rpcs, toRequest, options);
  }

  async get(name: string): Promise<Semaphore> {
    const { semaphore } = await this.unary(this.stub.getSemaphore, { name });
    return present(semaphore);
  }

  list(fields: Partial<ListSemaphoresRequest> = {}): Promise<ListSemaphoresResponse> {
    return this.unary(this.stub.listSemaphores, { ...ListSemaphoresRequest.create(), ...fields });
  }

  watch(name: string): WatchStream<Semaphore, WatchSemaphoreResponse> {
    return new WatchStream(this.stub.watchSemaphore({ name }), (message) => message.semaphore);
  }

  view(name: string): Promise<Semaphore> {
    return this.get(name);
  }

  async setLimit(name: string, limit: number, expectedLimit?: number): Promise<Semaphore> {
    const request = { name, limit, expectedLimit };
    const { semaphore } = await this.unary(this.stub.setSemaphoreLimit, request);
    return present(semaphore);
  }

  async setPaused(name: string, paused: boolean, expectedLimit?: number): Promise<Semaphore> {
    const request = { name, limit: undefined, expectedLimit, paused };
    const { semaphore } = await this.unary(this.stub.setSemaphoreLimit, request);
    return present(semaphore);
  }

  revoke(wanted: RevokeWanted): Promise<RevokePermitsResponse> {
    return this.unary(this.stub.revokePermits, revokeRequest(wanted));
  }

  async delete(name: string, force = false): Promise<void> {
    await this.unary(this.stub.deleteSemaphore, { name, force });
  }
}
