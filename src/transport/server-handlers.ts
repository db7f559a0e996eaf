import {
  Feature,
  StoreState,
  type GetServerInfoRequest,
  type GetServerInfoResponse,
  type ServerServiceServer,
} from '../../generated/typescript/holdfast/v1/server_service';
import type { Limits } from '../engine/limits';
import type { StoreHealth } from '../engine/store';
import { msToDuration } from '../wire/times';
import { unary, type CallContext } from './call';

const FEATURES = [Feature.FEATURE_EXCLUSIVE_LOCKS, Feature.FEATURE_SHARED_LOCKS, Feature.FEATURE_SEMAPHORES];

/** The handlers of ServerService. They ask nobody, so they answer while the store is unreachable too. */
export function serverHandlers(
  context: CallContext,
  version: string,
  limits: Limits,
  store: StoreHealth,
  offered: { readonly autocomplete: boolean },
): ServerServiceServer {
  const features = offered.autocomplete ? [...FEATURES, Feature.FEATURE_AUTOCOMPLETE] : FEATURES;
  return {
    getServerInfo: unary<GetServerInfoRequest, GetServerInfoResponse>(context, () =>
      Promise.resolve({
        version,
        minTtl: msToDuration(limits.minTtlMs),
        maxTtl: msToDuration(limits.maxTtlMs),
        defaultTtl: msToDuration(limits.defaultTtlMs),
        maxStreamAge: msToDuration(limits.maxStreamAgeMs),
        maxWaiterCount: limits.maxWaitersPerName,
        features,
        storeState: storeState(store),
        storeWarnings: [...store.warnings],
      }),
    ),
  };
}

function storeState(store: StoreHealth): StoreState {
  if (!store.reachable) return StoreState.STORE_STATE_UNREACHABLE;
  return store.suitable ? StoreState.STORE_STATE_READY : StoreState.STORE_STATE_UNSUITABLE;
}
