import type { Duration } from '../../../generated/typescript/google/protobuf/duration';
import type { Limits } from '../limits';
import type { AcquireRequest, HoldStart } from '../lease-requests';
import { checkName, Violations } from '../../rpc/fields';
import {
  checkHolderId,
  checkMetadata,
  checkRequestId,
  checkTtl,
  checkWaitTimeout,
  ttlBounds,
} from './fields';

/** The fields that the acquire requests of both services share. */
export interface AcquireFields {
  readonly name: string;
  readonly ttl: Duration | undefined;
  readonly waitTimeout: Duration | undefined;
  readonly holderId: string;
  readonly metadata: ReadonlyMap<string, string>;
  readonly requestId: string;
}

/** The part of an acquire request that each service reads from its own fields. */
export type PermitAmount = Pick<AcquireRequest, 'mode' | 'permitCount' | 'initialLimit'>;

/** The prefix of field names in violations: `acquire.` in a hold request, the others in a command of a session. */
export type FieldPath = '' | 'acquire.' | 'acquire_lock.' | 'acquire_permits.';
export type ReadAmount<Request> = (violations: Violations, request: Request, path: FieldPath) => PermitAmount;

export interface HoldStartMessage<Request> {
  readonly start?: { $case: 'acquire'; value: Request } | { $case: 'leaseId'; value: string } | undefined;
}

export interface LeaseRequestReaders<Request> {
  readAcquire(
    request: Request,
    path: FieldPath,
    needsRequestId: boolean,
    maxTtlMs: number | undefined,
  ): AcquireRequest;
  readStart(message: HoldStartMessage<Request>, maxTtlMs: number | undefined): HoldStart;
}

/**
 * The functions that check an acquire or hold request and translate it for the engine. They throw INVALID_FIELD.
 * `maxTtlMs` is the bound of the policy for the caller and the name; undefined: none.
 */
export function leaseRequestReaders<Request extends AcquireFields>(
  limits: Limits,
  readAmount: ReadAmount<Request>,
): LeaseRequestReaders<Request> {
  const readAcquire = (
    request: Request,
    path: FieldPath,
    needsRequestId: boolean,
    maxTtlMs: number | undefined,
  ): AcquireRequest => {
    const violations = new Violations();
    const bounds = ttlBounds(limits, maxTtlMs);
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
      ttlMs:
        checkTtl(violations, `${path}ttl`, request.ttl, bounds) ??
        Math.min(limits.defaultTtlMs, bounds.maxTtlMs),
      waitTimeoutMs: checkWaitTimeout(violations, `${path}wait_timeout`, request.waitTimeout),
    };
    violations.throwIfAny();
    return acquire;
  };

  const readStart = ({ start }: HoldStartMessage<Request>, maxTtlMs: number | undefined): HoldStart => {
    switch (start?.$case) {
      case 'acquire': {
        const acquire = readAcquire(start.value, 'acquire.', true, maxTtlMs);
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

  return { readAcquire, readStart };
}
