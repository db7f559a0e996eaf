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
  checkName,
  checkRequestId,
  checkTtl,
  checkWaitTimeout,
  Violations,
} from '../grpc/fields';
import { holdEventMessage, holdEventSlot, leaseMessage, lossCauseMessage } from './messages';
import { EventStream, type EventShape } from '../grpc/stream';

/** What the handlers ask of the permits engine. */
export interface PermitsEngine {
  acquire(call: Call, service: Service, request: AcquireRequest): Promise<Lease>;
  renew(call: Call, service: Service, leaseId: string, ttlMs: number | undefined): Promise<Lease>;
  release(call: Call, service: Service, leaseId: string): Promise<ReleaseResult>;
  hold(call: Call, service: Service, start: HoldStart, sink: HoldSink): Promise<void>;
  inspect(service: Service, name: string): Promise<ResourceView>;
  setLimit(name: string, command: SetLimitCommand): Promise<ResourceView>;
  remove(name: string, command: RemoveCommand): Promise<void>;
}

/** What both services ask for a grant by. */
interface Asked {
  readonly name: string;
  readonly ttl: Duration | undefined;
  readonly waitTimeout: Duration | undefined;
  readonly holderId: string;
  readonly metadata: ReadonlyMap<string, string>;
  readonly requestId: string;
}

/** What each service asks for by itself. */
export type Amount = Pick<AcquireRequest, 'mode' | 'permitCount' | 'initialLimit'>;

/** `path` stands before the field's name where the request is part of another message. */
type ReadAmount<Request> = (violations: Violations, request: Request, path: Path) => Amount;
export type Path = '' | 'acquire.';

interface AskedStart<Request> {
  readonly start?: { $case: 'acquire'; value: Request } | { $case: 'leaseId'; value: string } | undefined;
}

const HOLD_EVENTS: EventShape<HoldEvent, { holdEvent: proto.HoldEvent | undefined }> = {
  toMessage: (event) => ({ holdEvent: holdEventMessage(event) }),
  slot: holdEventSlot,
};

/**
 * The handlers that LockService and SemaphoreService have in common; their messages have the same shape, but for
 * what is asked for. They check and translate, the engine decides.
 */
export function leaseHandlers<Request extends Asked>(
  context: CallContext,
  engine: PermitsEngine,
  service: Service,
  limits: Limits,
  readAmount: ReadAmount<Request>,
) {
  const readAcquire = (request: Request, path: Path, needsRequestId: boolean): AcquireRequest => {
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

  const readStart = ({ start }: AskedStart<Request>): HoldStart => {
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
        return violations.refuse();
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

    hold: serverStream<AskedStart<Request>, { holdEvent: proto.HoldEvent | undefined }>(
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
