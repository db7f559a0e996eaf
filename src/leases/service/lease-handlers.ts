import type { Duration } from '../../../generated/typescript/google/protobuf/duration';
import type * as proto from '../../../generated/typescript/holdfast/v1/lease';
import type { HoldEvent, Service } from '../lease';
import type { ResourcePage } from '../lease-requests';
import type { Limits } from '../limits';
import type { LeaseEngine } from '../lease-engine';
import { serverStream, unary, type CallContext, type HandledCall } from '../../rpc/handlers';
import { checkLeaseId, checkMetadata, checkTtl, ttlBounds } from './fields';
import { EventStream, type EventShape } from '../../rpc/event-stream';
import { Violations } from '../../rpc/fields';
import {
  leaseRequestReaders,
  type AcquireFields,
  type HoldStartMessage,
  type ReadAmount,
} from './lease-requests';
import { readList, type ListFields } from './list-requests';
import { holdEventCoalesceKey, holdEventMessage, leaseMessage, lossCauseMessage } from './messages';

function holdEvents({
  receivedAt,
}: HandledCall): EventShape<HoldEvent, { holdEvent: proto.HoldEvent | undefined }> {
  return {
    toMessage: (event) => ({ holdEvent: holdEventMessage(event, receivedAt) }),
    coalesceKey: holdEventCoalesceKey,
  };
}

interface RenewFields {
  readonly leaseId: string;
  readonly ttl: Duration | undefined;
  readonly metadataUpdate: proto.MetadataUpdate | undefined;
}

/**
 * The handlers that LockService and SemaphoreService share. `readAmount` reads the fields in which the requests of the
 * two services differ.
 */
export function leaseHandlers<Request extends AcquireFields>(
  context: CallContext,
  engine: LeaseEngine,
  service: Service,
  limits: Limits,
  readAmount: ReadAmount<Request>,
) {
  const { readAcquire, readStart } = leaseRequestReaders(limits, readAmount);
  return {
    acquire: unary<Request, { lease: proto.Lease | undefined }>(context, async (request, call) => {
      const lease = await engine.acquire(call, service, readAcquire(request, '', false, call.maxTtlMs));
      return { lease: leaseMessage(lease, call.receivedAt) };
    }),

    renew: unary<RenewFields, { lease: proto.Lease | undefined }>(context, async (request, call) => {
      const { leaseId, ttl, metadataUpdate } = request;
      const violations = new Violations();
      const renewal = {
        ttlMs: checkTtl(violations, 'ttl', ttl, ttlBounds(limits, call.maxTtlMs)),
        metadata:
          metadataUpdate && checkMetadata(violations, 'metadata_update.entries', metadataUpdate.entries),
      };
      checkLeaseId(violations, 'lease_id', service, leaseId);
      violations.throwIfAny();
      const lease = await engine.renew(call, service, leaseId, renewal);
      return { lease: leaseMessage(lease, call.receivedAt) };
    }),

    release: unary<{ leaseId: string }, { released: boolean; lossCause: proto.LossCause }>(
      context,
      async (request, call) => {
        const { released, lossCause } = await engine.release(call, service, request.leaseId);
        return { released, lossCause: lossCauseMessage(lossCause) };
      },
    ),

    list: <Request extends ListFields, Response>(toMessage: (page: ResourcePage) => Response) =>
      unary<Request, Response>(context, async (request, call) =>
        toMessage(await engine.list(call, service, readList(request), call)),
      ),

    hold: serverStream<HoldStartMessage<Request>, { holdEvent: proto.HoldEvent | undefined }>(
      context,
      async (request, call, stream) => {
        const start = readStart(request, call.maxTtlMs);
        const events = new EventStream(stream, holdEvents(call));
        try {
          await engine.hold(call, service, start, events);
        } finally {
          events.finish();
        }
      },
    ),
  };
}
