import type { Duration } from '../../../generated/typescript/google/protobuf/duration';
import type * as proto from '../../../generated/typescript/holdfast/v1/lease';
import type { Call } from '../../engine/call';
import type { AcquireRequest, HoldSink, HoldStart, ReleaseResult } from '../../engine/leases/requests';
import type { HoldEvent, Lease, ResourceView, Service } from '../../engine/leases/lease';
import type { Limits } from '../../engine/leases/limits';
import type { RemoveCommand, SetLimitCommand } from '../../engine/leases/permits-store';
import { serverStream, unary, type CallContext } from '../grpc/call';
import {
  checkHolderId,
  checkLeaseId,
  checkMetadata,
  checkRequestId,
  checkTtl,
  checkWaitTimeout,
} from './fields';
import { EventStream, type EventShape } from '../grpc/event-stream';
import { checkName, Violations } from '../grpc/fields';
import { holdEventCoalesceKey, holdEventMessage, leaseMessage, lossCauseMessage } from './messages';

/** The part of the permits engine that the handlers call. */
export interface PermitsEngine {
  acquire(call: Call, service: Service, request: AcquireRequest): Promise<Lease>;
  renew(call: Call, service: Service, leaseId: string, ttlMs: number | undefined): Promise<Lease>;
  release(call: Call, service: Service, leaseId: string): Promise<ReleaseResult>;
  hold(call: Call, service: Service, start: HoldStart, sink: HoldSink): Promise<void>;
  inspect(service: Service, name: string): Promise<ResourceView>;
  setLimit(name: string, command: SetLimitCommand): Promise<ResourceView>;
  remove(name: string, command: RemoveCommand): Promise<void>;
}

/** The fields that the acquire requests of both services share. */
interface AcquireFields {
  readonly name: string;
  readonly ttl: Duration | undefined;
  readonly waitTimeout: Duration | undefined;
  readonly holderId: string;
  readonly metadata: ReadonlyMap<string, string>;
  readonly requestId: string;
}

/** The part of an acquire request that each service reads from its own fields. */
export type PermitAmount = Pick<AcquireRequest, 'mode' | 'permitCount' | 'initialLimit'>;

/** The prefix of field names in violations. It is `acquire.` for an acquire request inside a hold request. */
export type FieldPath = '' | 'acquire.';
type ReadAmount<Request> = (violations: Violations, request: Request, path: FieldPath) => PermitAmount;

interface HoldStartMessage<Request> {
  readonly start?: { $case: 'acquire'; value: Request } | { $case: 'leaseId'; value: string } | undefined;
}

const HOLD_EVENTS: EventShape<HoldEvent, { holdEvent: proto.HoldEvent | undefined }> = {
  toMessage: (event) => ({ holdEvent: holdEventMessage(event) }),
  coalesceKey: holdEventCoalesceKey,
};

/**
 * The handlers that LockService and SemaphoreService share. Their messages differ only in the fields that `readAmount`
 * reads.
 */
export function leaseHandlers<Request extends AcquireFields>(
  context: CallContext,
  engine: PermitsEngine,
  service: Service,
  limits: Limits,
  readAmount: ReadAmount<Request>,
) {
  const readAcquire = (request: Request, path: FieldPath, needsRequestId: boolean): AcquireRequest => {
    const violations = new Violations();
    checkName(violations, `${path}name`, request.name);
    checkHolderId(violations, `${path}holder_id`, request.holderId);
    const { mode, permitCount, initialLimit } = readAmount(violations, request, path);
    const acquire = {
      name: request.name,
      requestId: checkRequestId(violations, `${path}request_id`, request.requestId, needsRequestId),
      mode,
      permitCount,
      initialLimit,
      holderId: request.holderId,
      metadata: checkMetadata(violations, `${path}metadata`, request.metadata),
      ttlMs: checkTtl(violations, `${path}ttl`, request.ttl, limits) ?? limits.defaultTtlMs,
      waitTimeoutMs: checkWaitTimeout(violations, `${path}wait_timeout`, request.waitTimeout),
    };
    violations.throwIfAny();
    return acquire;
  };

  const readStart = ({ start }: HoldStartMessage<Request>): HoldStart => {
    switch (start?.$case) {
      case 'acquire': {
        const acquire = readAcquire(start.value, 'acquire.', true);
        return { kind: 'acquire', request: { ...acquire, requestId: acquire.requestId as string } };
      }
      case 'leaseId':
        return { kind: 'attach', leaseId: start.value };
      default: {
        const violations = new Violations();
        violations.add('start', 'is required: acquire or lease_id');
        return violations.throw();
      }
    }
  };

  return {
    acquire: unary<Request, { lease: proto.Lease | undefined }>(context, async (request, call) => {
      const lease = await engine.acquire(call, service, readAcquire(request, '', false));
      return { lease: leaseMessage(lease) };
    }),

    renew: unary<{ leaseId: string; ttl: Duration | undefined }, { lease: proto.Lease | undefined }>(
      context,
      async (request, call) => {
        const violations = new Violations();
        const ttlMs = checkTtl(violations, 'ttl', request.ttl, limits);
        checkLeaseId(violations, 'lease_id', service, request.leaseId);
        violations.throwIfAny();
        const lease = await engine.renew(call, service, request.leaseId, ttlMs);
        return { lease: leaseMessage(lease) };
      },
    ),

    release: unary<{ leaseId: string }, { released: boolean; lossCause: proto.LossCause }>(
      context,
      async (request, call) => {
        const { released, lossCause } = await engine.release(call, service, request.leaseId);
        return { released, lossCause: lossCauseMessage(lossCause) };
      },
    ),

    hold: serverStream<HoldStartMessage<Request>, { holdEvent: proto.HoldEvent | undefined }>(
      context,
      async (request, call, stream) => {
        const start = readStart(request);
        const events = new EventStream(stream, HOLD_EVENTS);
        try {
          await engine.hold(call, service, start, events);
        } finally {
          events.finish();
        }
      },
    ),
  };
}
