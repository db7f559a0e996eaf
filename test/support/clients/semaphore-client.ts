import { credentials } from '@grpc/grpc-js';
import {
  AcquirePermitsRequest,
  SemaphoreServiceClient,
  type Semaphore,
} from '../../../generated/typescript/holdfast/v1/semaphore_service';
import { commonFields, LeaseClient, OWN_CONNECTION, present, type Wanted } from './lease-client';

export interface PermitsAsked extends Wanted {
  readonly permitCount?: number;
  readonly initialLimit?: number;
}

export function acquirePermitsRequest(asked: PermitsAsked): AcquirePermitsRequest {
  const { permitCount, initialLimit } = asked;
  return { ...AcquirePermitsRequest.create(), permitCount, initialLimit, ...commonFields(asked) };
}

/** A client of SemaphoreService with a connection of its own. */
export class SemaphoreClient extends LeaseClient<
  SemaphoreServiceClient,
  PermitsAsked,
  AcquirePermitsRequest
> {
  constructor(address: string) {
    const stub = new SemaphoreServiceClient(address, credentials.createInsecure(), OWN_CONNECTION);
    const rpcs = {
      acquire: stub.acquirePermits,
      renew: stub.renewPermits,
      release: stub.releasePermits,
      hold: stub.holdPermits,
    };
    super(stub, rpcs, acquirePermitsRequest);
  }

  async get(name: string): Promise<Semaphore> {
    const { semaphore } = await this.unary(this.stub.getSemaphore, { name });
    return present(semaphore);
  }

  async setLimit(name: string, limit: number, expectedLimit?: number): Promise<Semaphore> {
    const request = { name, limit, expectedLimit };
    const { semaphore } = await this.unary(this.stub.setSemaphoreLimit, request);
    return present(semaphore);
  }

  async delete(name: string, force = false): Promise<void> {
    await this.unary(this.stub.deleteSemaphore, { name, force });
  }
}
