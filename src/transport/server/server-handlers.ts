import {
  Feature,
  QuarantineCause,
  StoreState,
  type EndQuarantineRequest,
  type EndQuarantineResponse,
  type GetServerInfoRequest,
  type GetServerInfoResponse,
  type Quarantine as QuarantineMessage,
  type ServerServiceServer,
} from '../../../generated/typescript/holdfast/v1/server_service';
import type { Limits } from '../../engine/leases/limits';
import { endQuarantine } from '../../engine/quarantine';
import type { Quarantine, StoreHealth, StoreOperations } from '../../engine/store-health';
import { escapeText } from '../../wire/escape-text';
import { msToDuration } from '../../wire/times';
import { unary, type CallContext } from '../grpc/call';
import { checkText, Violations } from '../grpc/fields';

const FEATURES = [
  Feature.FEATURE_EXCLUSIVE_LOCKS,
  Feature.FEATURE_SHARED_LOCKS,
  Feature.FEATURE_SEMAPHORES,
  Feature.FEATURE_LISTS,
  Feature.FEATURE_WATCHES,
  Feature.FEATURE_REVOCATION,
  Feature.FEATURE_METADATA_UPDATE,
  Feature.FEATURE_AUTOCOMPLETE,
  Feature.FEATURE_SESSIONS,
];

/** Bound of the reason that an operator gives to end a quarantine. */
const MAX_REASON_BYTES = 512;

const CAUSES: Readonly<Record<Quarantine['cause'], QuarantineCause>> = {
  forgotten: QuarantineCause.QUARANTINE_CAUSE_FORGOTTEN,
  restarted: QuarantineCause.QUARANTINE_CAUSE_RESTARTED,
  clock: QuarantineCause.QUARANTINE_CAUSE_CLOCK,
};

/** The handlers of ServerService. GetServerInfo makes no call to the store, and also answers while the store is down. */
export function serverHandlers(
  context: CallContext,
  version: string,
  limits: Limits,
  store: StoreHealth & StoreOperations,
): ServerServiceServer {
  return {
    getServerInfo: unary<GetServerInfoRequest, GetServerInfoResponse>(context, () =>
      Promise.resolve({
        version,
        minTtl: msToDuration(limits.minTtlMs),
        maxTtl: msToDuration(limits.maxTtlMs),
        defaultTtl: msToDuration(limits.defaultTtlMs),
        maxStreamAge: msToDuration(limits.maxStreamAgeMs),
        maxWaiterCount: limits.maxWaitersPerName,
        features: FEATURES,
        storeState: storeState(store),
        storeWarnings: [...store.warnings],
        quarantine: store.quarantine && quarantineMessage(store.quarantine),
      }),
    ),
    endQuarantine: unary<EndQuarantineRequest, EndQuarantineResponse>(context, async ({ reason }) => {
      const violations = new Violations();
      if (reason === '') violations.add('reason', 'is required');
      else checkText(violations, 'reason', reason, MAX_REASON_BYTES);
      violations.throwIfAny();
      const shown = escapeText(reason);
      const { quarantine, risk } = await endQuarantine(store).catch((error: unknown) => {
        context.log.warn(
          { reason: shown, err: error },
          'an operator asked to end the quarantine; the attempt failed, and the quarantine may have ended',
        );
        throw error;
      });
      if (quarantine === undefined) return { endedQuarantine: undefined, risk };
      const { remainingMs, cause } = quarantine;
      context.log.warn(
        { reason: shown, cause, remainingMs: Math.round(remainingMs), risk },
        'an operator ended the quarantine',
      );
      return { endedQuarantine: quarantineMessage(quarantine), risk };
    }),
  };
}

function storeState(store: StoreHealth): StoreState {
  if (!store.reachable) return StoreState.STORE_STATE_UNREACHABLE;
  if (!store.suitable) return StoreState.STORE_STATE_UNSUITABLE;
  return store.quarantine ? StoreState.STORE_STATE_QUARANTINED : StoreState.STORE_STATE_READY;
}

function quarantineMessage({ remainingMs, cause }: Quarantine): QuarantineMessage {
  return { remainingDuration: msToDuration(remainingMs), cause: CAUSES[cause] };
}
