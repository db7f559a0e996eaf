import { Lock } from '../../../generated/typescript/holdfast/v1/lock_service';
import type {
  GetLockRequest,
  ReleaseLockRequest,
  WatchLockRequest,
  WatchLockResponse,
} from '../../../generated/typescript/holdfast/v1/lock_service';
import {
  Feature,
  GetServerInfoResponse,
  StoreState,
} from '../../../generated/typescript/holdfast/v1/server_service';
import {
  Semaphore,
  type GetSemaphoreRequest,
} from '../../../generated/typescript/holdfast/v1/semaphore_service';
import type { handleServerStreamingCall, ServerWritableStream } from '@grpc/grpc-js';
import { holderOf } from './command-place';
import { refuse, type ServedCalls } from './served-calls';
import { serviceError, type StatusSpec } from './status-spec';
import type { Store } from './store';

function lockState(store: Store, name: string): Lock {
  const resource = store.resource('lock', name);
  const holders = [...resource.holders].map(holderOf);
  return Lock.create({
    ...{ name, lastFencingToken: resource.lastToken, holderCount: holders.length },
    ...{ waiterCount: resource.queue.length, holders },
  });
}

function semaphoreState(store: Store, name: string): Semaphore {
  const { limit, isPaused, holders, queue, lastToken } = store.resource('permits', name);
  if (limit === 0) throw refuse('NO_SUCH_SEMAPHORE');
  return Semaphore.create({
    ...(isPaused ? { keptLimit: limit } : { limit }),
    ...{ name, waiterCount: queue.length, lastFencingToken: lastToken, holderCount: holders.size },
    usedCount: [...holders].reduce((sum, { wanted }) => sum + wanted.permits, 0),
  });
}

/** The calls about locks and semaphores that clients of sessions use. */
export class LockCalls {
  private readonly watches = new Set<ServerWritableStream<WatchLockRequest, WatchLockResponse>>();

  constructor(
    private readonly store: Store,
    private readonly served: ServedCalls,
  ) {}

  readonly getLock = () =>
    this.served.unary(
      'GetLock',
      (request: GetLockRequest) => request.name,
      ({ name }: GetLockRequest) => ({
        lock: lockState(this.store, name),
      }),
    );

  readonly releaseLock = () =>
    this.served.unary(
      'ReleaseLock',
      ({ leaseId }: ReleaseLockRequest) => this.store.holdings.get(leaseId)?.wanted.name ?? '',
      ({ leaseId }: ReleaseLockRequest) => ({ released: this.store.release(leaseId).released, lossCause: 0 }),
    );

  readonly getSemaphore = () =>
    this.served.unary(
      'GetSemaphore',
      (request: GetSemaphoreRequest) => request.name,
      ({ name }: GetSemaphoreRequest) => ({ semaphore: semaphoreState(this.store, name) }),
    );

  readonly serverInfo = () =>
    this.served.unary(
      'GetServerInfo',
      () => '',
      () =>
        GetServerInfoResponse.create({
          version: '9.8.7',
          features: [Feature.FEATURE_EXCLUSIVE_LOCKS, Feature.FEATURE_AUTOCOMPLETE, Feature.FEATURE_SESSIONS],
          storeState: StoreState.STORE_STATE_READY,
        }),
    );

  readonly watchLock: handleServerStreamingCall<WatchLockRequest, WatchLockResponse> = (call) => {
    const { name } = call.request;
    const refused = this.served.stream('WatchLock', name, call, call.request);
    if (refused) return void call.emit('error', refused);
    this.watches.add(call);
    let told = '';
    const tell = (): void => {
      const lock = lockState(this.store, name);
      const text = JSON.stringify(Lock.toJSON(lock));
      if (text !== told) call.write({ lock });
      told = text;
    };
    tell();
    const stop = this.store.watch(tell);
    call.on('close', () => {
      stop();
      this.watches.delete(call);
    });
  };

  /** Ends all watches. */
  endWatches(status: StatusSpec): void {
    for (const call of this.watches) call.emit('error', serviceError(status));
  }
}
