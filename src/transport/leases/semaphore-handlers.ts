import {
  AcquirePermitsResponse,
  HoldPermitsResponse,
  ReleasePermitsResponse,
  RenewPermitsResponse,
  SemaphoreServiceService,
  type AcquirePermitsRequest,
  type DeleteSemaphoreRequest,
  type DeleteSemaphoreResponse,
  type GetSemaphoreRequest,
  type GetSemaphoreResponse,
  type SemaphoreServiceServer,
  type SetSemaphoreLimitRequest,
  type SetSemaphoreLimitResponse,
} from '../../../generated/typescript/holdfast/v1/semaphore_service';
import type { Limits } from '../../engine/leases/limits';
import { unary, type CallContext } from '../grpc/call';
import { checkCount, checkName, refuseBadName, Violations } from '../grpc/fields';
import { leaseHandlers, type Amount, type Path, type PermitsEngine } from './lease-handlers';
import { semaphoreMessage } from './messages';
import { serializer } from '../grpc/serialize';

/** SemaphoreService as generated, but for what is quicker on the way of every lease. */
export const semaphoreServiceDefinition = {
  ...SemaphoreServiceService,
  acquirePermits: {
    ...SemaphoreServiceService.acquirePermits,
    responseSerialize: serializer(AcquirePermitsResponse),
  },
  renewPermits: {
    ...SemaphoreServiceService.renewPermits,
    responseSerialize: serializer(RenewPermitsResponse),
  },
  releasePermits: {
    ...SemaphoreServiceService.releasePermits,
    responseSerialize: serializer(ReleasePermitsResponse),
  },
  holdPermits: { ...SemaphoreServiceService.holdPermits, responseSerialize: serializer(HoldPermitsResponse) },
};

/** The handlers of SemaphoreService. */
export function semaphoreHandlers(
  context: CallContext,
  engine: PermitsEngine,
  limits: Limits,
): SemaphoreServiceServer {
  const { acquire, renew, release, hold } = leaseHandlers(context, engine, 'semaphore', limits, readPermits);
  return {
    acquirePermits: acquire,
    renewPermits: renew,
    releasePermits: release,
    holdPermits: hold,

    setSemaphoreLimit: unary<SetSemaphoreLimitRequest, SetSemaphoreLimitResponse>(
      context,
      async ({ name, limit: wanted, expectedLimit: expected }) => {
        const violations = new Violations();
        checkName(violations, 'name', name);
        const limit = checkCount(violations, 'limit', wanted, 0);
        if (wanted === undefined) violations.add('limit', 'is required');
        const expectedLimit = checkCount(violations, 'expected_limit', expected, 0);
        violations.throwIfAny();
        const view = await engine.setLimit(name, { limit: limit as number, expectedLimit });
        return { semaphore: semaphoreMessage(view) };
      },
    ),

    getSemaphore: unary<GetSemaphoreRequest, GetSemaphoreResponse>(context, async ({ name }) => {
      refuseBadName(name);
      return { semaphore: semaphoreMessage(await engine.inspect('semaphore', name)) };
    }),

    deleteSemaphore: unary<DeleteSemaphoreRequest, DeleteSemaphoreResponse>(
      context,
      async ({ name, force }) => {
        refuseBadName(name);
        await engine.remove(name, { force });
        return {};
      },
    ),
  };
}

function readPermits(violations: Violations, request: AcquirePermitsRequest, path: Path): Amount {
  return {
    mode: 'exclusive',
    permitCount: checkCount(violations, `${path}permit_count`, request.permitCount, 1) ?? 1,
    initialLimit: checkCount(violations, `${path}initial_limit`, request.initialLimit, 0),
  };
}
