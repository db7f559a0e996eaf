import { ErrorReason } from '../../generated/typescript/holdfast/v1/error_reason';
import {
  CallerOrder,
  Feature,
  QuarantineCause,
  StoreExecution,
  StoreState,
  type Caller,
  type ListCallersRequest,
  type ListCallersResponse,
  type Quarantine as QuarantineMessage,
  ServerServiceService,
} from '../../generated/typescript/holdfast/v1/server_service';
import type { CallerOrder as EngineOrder, CallerQuery, Callers, CallerUse } from '../base/callers';
import type { CheckNames } from '../access/authorization';
import type { Clock } from '../base/clock';
import type { Log } from '../base/log';
import type { Limits } from '../leases/lease';
import { LIST_PAGES } from '../base/names';
import { endQuarantine, type Quarantine, type StoreHealth, type StoreOperations } from '../base/store-state';
import { escapeText } from '../base/text';
import { msToDuration } from '../rpc/wire';
import type { OfferedService, Rows } from '../rpc/service';
import { checkPageSize, checkText, Violations } from '../rpc/fields';

/** Bound of the reason that an operator gives to end a quarantine. */
const MAX_REASON_BYTES = 512;
/** Bound of the identity and the address that ListCallers looks for. */
const MAX_FILTER_BYTES = 256;

const CAUSES: Readonly<Record<Quarantine['cause'], QuarantineCause>> = {
  forgotten: QuarantineCause.QUARANTINE_CAUSE_FORGOTTEN,
  restarted: QuarantineCause.QUARANTINE_CAUSE_RESTARTED,
  clock: QuarantineCause.QUARANTINE_CAUSE_CLOCK,
};

/** The verb is needed for the server as a whole, which has the empty name. */
const byServer: CheckNames<object> = (_request, caller) => caller.require('');

export interface ServerServiceParts {
  readonly version: string;
  readonly limits: Limits;
  /** The features of all products. */
  readonly features: readonly Feature[];
  readonly store: StoreHealth & StoreOperations;
  readonly callers: Callers;
  readonly clock: Clock;
  readonly log: Log;
}

export function serverService({
  version,
  limits,
  features,
  store,
  callers,
  clock,
  log,
}: ServerServiceParts): OfferedService {
  const all = [...features, Feature.FEATURE_CALLERS].sort((one, other) => one - other);
  const rows: Rows<typeof ServerServiceService> = {
    /** Makes no call to the store, and also answers while the store is down. */
    getServerInfo: {
      /** Every proven caller may make the call. */
      names: () => undefined,
      load: 'low',
      handle: () =>
        Promise.resolve({
          version,
          minTtl: msToDuration(limits.minTtlMs),
          maxTtl: msToDuration(limits.maxTtlMs),
          defaultTtl: msToDuration(limits.defaultTtlMs),
          maxStreamAge: msToDuration(limits.maxStreamAgeMs),
          maxWaiterCount: limits.maxWaitersPerName,
          features: all,
          storeState: storeState(store),
          storeExecution: storeExecution(store),
          storeWarnings: [...store.warnings],
          quarantine: store.quarantine && quarantineMessage(store.quarantine),
        }),
    },
    endQuarantine: {
      names: byServer,
      load: 'high',
      audit: ({ reason }) => ({ action: 'end quarantine', name: '', requestReason: reason }),
      handle: async ({ reason }) => {
        const violations = new Violations();
        if (reason === '') violations.add('reason', 'is required');
        else checkText(violations, 'reason', reason, MAX_REASON_BYTES);
        violations.throwIfAny();
        const shown = escapeText(reason);
        const { quarantine, risk } = await endQuarantine(store).catch((error: unknown) => {
          log.warn(
            { reason: shown, err: error },
            'an operator asked to end the quarantine; the attempt failed, and the quarantine may have ended',
          );
          throw error;
        });
        if (quarantine === undefined) return { endedQuarantine: undefined, risk };
        const { remainingMs, cause } = quarantine;
        log.warn(
          { reason: shown, cause, remainingMs: Math.round(remainingMs), risk },
          'an operator ended the quarantine',
        );
        return { endedQuarantine: quarantineMessage(quarantine), risk };
      },
    },
    listCallers: {
      names: byServer,
      load: 'low',
      handle: (request) => Promise.resolve(callersMessage(callers, readCallerQuery(request), clock)),
    },
  };
  return { definition: ServerServiceService, rows };
}

function readCallerQuery({ identity, address, pageSize, orderBy }: ListCallersRequest): CallerQuery {
  const violations = new Violations();
  checkText(violations, 'identity', identity, MAX_FILTER_BYTES);
  checkText(violations, 'address', address, MAX_FILTER_BYTES);
  const count = checkPageSize(violations, 'page_size', pageSize, LIST_PAGES);
  const order = ORDERS[orderBy];
  if (order === undefined) violations.add('order_by', `${orderBy} is not a CallerOrder`);
  violations.throwIfAny();
  return { identity, address, count, order: order ?? 'calls' };
}

const ORDERS: Readonly<Record<number, EngineOrder>> = {
  [CallerOrder.CALLER_ORDER_UNSPECIFIED]: 'calls',
  [CallerOrder.CALLER_ORDER_CALL_COUNT]: 'calls',
  [CallerOrder.CALLER_ORDER_REFUSAL_COUNT]: 'refusals',
  [CallerOrder.CALLER_ORDER_LEASE_COUNT]: 'leases',
  [CallerOrder.CALLER_ORDER_WAITER_COUNT]: 'waiters',
};

function callersMessage(callers: Callers, query: CallerQuery, clock: Clock): ListCallersResponse {
  const { callers: listed, matchCount } = callers.list(query);
  const { other, displacedCount, recentMs } = callers;
  const now = clock.now();
  return {
    callers: listed.map((caller) => callerMessage(caller, now)),
    callerCount: matchCount,
    other: displacedCount > 0 ? callerMessage(other, now) : undefined,
    displacedCount: BigInt(displacedCount),
    recentDuration: msToDuration(recentMs),
  };
}

function callerMessage(caller: CallerUse, now: number): Caller {
  const { identity, address, leaseCount, waiterCount, streamCount, connectionCount, lastRefusal } = caller;
  return {
    identity,
    address,
    callCount: BigInt(caller.callCount),
    refusalCount: BigInt(caller.refusalCount),
    recentCallCount: BigInt(caller.recentCallCount),
    recentRefusalCount: BigInt(caller.recentRefusalCount),
    leaseCount,
    waiterCount,
    streamCount,
    connectionCount,
    lastRefusalReason:
      lastRefusal === undefined
        ? ErrorReason.ERROR_REASON_UNSPECIFIED
        : ErrorReason[`ERROR_REASON_${lastRefusal}`],
    age: msToDuration(now - caller.since),
  };
}

function storeExecution({ hasLibrary }: StoreHealth): StoreExecution {
  if (hasLibrary === undefined) return StoreExecution.STORE_EXECUTION_UNSPECIFIED;
  return hasLibrary ? StoreExecution.STORE_EXECUTION_FUNCTIONS : StoreExecution.STORE_EXECUTION_SCRIPTS;
}

function storeState(store: StoreHealth): StoreState {
  if (!store.reachable) return StoreState.STORE_STATE_UNREACHABLE;
  if (!store.suitable) return StoreState.STORE_STATE_UNSUITABLE;
  return store.quarantine ? StoreState.STORE_STATE_QUARANTINED : StoreState.STORE_STATE_READY;
}

function quarantineMessage({ remainingMs, cause }: Quarantine): QuarantineMessage {
  return { remainingDuration: msToDuration(remainingMs), cause: CAUSES[cause] };
}
