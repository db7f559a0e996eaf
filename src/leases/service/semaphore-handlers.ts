import {
  AcquirePermitsResponse,
  HoldPermitsResponse,
  ReleasePermitsResponse,
  RenewPermitsResponse,
  SemaphoreServiceService,
  WatchSemaphoreResponse,
  type AcquirePermitsRequest,
  type DeleteSemaphoreRequest,
  type DeleteSemaphoreResponse,
  type GetSemaphoreRequest,
  type GetSemaphoreResponse,
  type SemaphoreServiceServer,
  type SetSemaphoreLimitRequest,
  type SetSemaphoreLimitResponse,
} from '../../../generated/typescript/holdfast/v1/semaphore_service';
import type { Limits } from '../limits';
import type { LeaseEngine } from '../lease-engine';
import { unary, type CallContext } from '../../rpc/handlers';
import { checkName, requireName, Violations } from '../../rpc/fields';
import { serializer, sharedSerializer } from '../../rpc/serialize';
import { checkCount } from './fields';
import { leaseHandlers } from './lease-handlers';
import type { FieldPath, PermitAmount } from './lease-requests';
import { semaphoreMessage } from './messages';
import { watchHandler } from './watch-handler';
import { revokeHandler } from './revoke-handler';

/** The generated SemaphoreService, with faster serializers for the answers that each lease needs. */
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
  watchSemaphore: {
    ...SemaphoreServiceService.watchSemaphore,
    responseSerialize: sharedSerializer(WatchSemaphoreResponse),
  },
};

export function semaphoreHandlers(
  context: CallContext,
  engine: LeaseEngine,
  limits: Limits,
): SemaphoreServiceServer {
  const { acquire, renew, release, list, hold } = leaseHandlers(
    context,
    engine,
    'semaphore',
    limits,
    readPermits,
  );
  return {
    acquirePermits: acquire,
    renewPermits: renew,
    releasePermits: release,
    holdPermits: hold,

    setSemaphoreLimit: unary<SetSemaphoreLimitRequest, SetSemaphoreLimitResponse>(
      context,
      async ({ name, limit: newLimit, expectedLimit: expected, paused }) => {
        const violations = new Violations();
        checkName(violations, 'name', name);
        const number = checkCount(violations, 'limit', newLimit, 0);
        if (newLimit === undefined && paused === undefined) violations.add('limit', 'is required');
        if (newLimit !== undefined && paused !== undefined)
          violations.add('paused', 'must not be set together with limit');
        const expectedLimit = checkCount(violations, 'expected_limit', expected, 0);
        violations.throwIfAny();
        const limit = paused === undefined ? (number as number) : paused ? 'pause' : 'resume';
        const view = await engine.setLimit(name, { limit, expectedLimit });
        return { semaphore: semaphoreMessage(view) };
      },
    ),

    getSemaphore: unary<GetSemaphoreRequest, GetSemaphoreResponse>(context, async ({ name }, call) => {
      requireName('name', name);
      return { semaphore: semaphoreMessage(await engine.inspect(call, 'semaphore', name)) };
    }),

    deleteSemaphore: unary<DeleteSemaphoreRequest, DeleteSemaphoreResponse>(
      context,
      async ({ name, force }) => {
        requireName('name', name);
        await engine.remove(name, { force });
        return {};
      },
    ),

    listSemaphores: list(({ resources, nextPageToken, sampled }) => ({
      semaphores: resources.map(semaphoreMessage),
      nextPageToken,
      sampled,
    })),

    watchSemaphore: watchHandler(context, engine, 'semaphore', (view) => ({
      semaphore: semaphoreMessage(view),
    })),

    revokePermits: revokeHandler(context, engine, 'semaphore'),
  };
}

export function readPermits(
  violations: Violations,
  request: AcquirePermitsRequest,
  path: FieldPath,
): PermitAmount {
  return {
    mode: 'exclusive',
    permitCount: checkCount(violations, `${path}permit_count`, request.permitCount, 1) ?? 1,
    initialLimit: checkCount(violations, `${path}initial_limit`, request.initialLimit, 0),
  };
}
