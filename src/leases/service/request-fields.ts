import type { Duration } from '../../../generated/typescript/google/protobuf/duration';
import { ListOrder } from '../../../generated/typescript/holdfast/v1/lease';
import type { CheckNames } from '../../access/authorization';
import { MAX_IDENTITY_BYTES } from '../../access/identity';
import { LIST_PAGES, MAX_NAME_BYTES } from '../../base/names';
import { timeSpan } from '../../base/text';
import { checkName, checkPageSize, checkText, isLabel, Violations } from '../../rpc/fields';
import type { RequestRights } from '../../rpc/service';
import { durationToMs } from '../../rpc/wire';
import {
  type Limits,
  MAX_HOLDER_ID_BYTES,
  MAX_METADATA_BYTES,
  MAX_METADATA_PAIRS,
  type Service,
} from '../lease';
import { decodeLeaseId } from '../lease-id';
import type { AcquireRequest, HoldStart, ListRequest } from '../lease-requests';

/** Checks of the fields that only leases have. `rpc/fields.ts` has the shared checks. */

const UUID_V4_OR_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const NO_DURATION = 'is not a valid Duration: seconds and nanos must be in range and have the same sign';
const NO_METADATA: Readonly<Record<string, string>> = Object.freeze({});

export function checkHolderId(violations: Violations, field: string, holderId: string): void {
  if (holderId !== '') checkText(violations, field, holderId, MAX_HOLDER_ID_BYTES);
}

/** A key must not be empty, and must not contain a control character or U+FFFD. A value may contain any character. */
export function checkMetadata(
  violations: Violations,
  field: string,
  metadata: ReadonlyMap<string, string>,
): Readonly<Record<string, string>> {
  if (metadata.size === 0) return NO_METADATA;
  if (metadata.size > MAX_METADATA_PAIRS) {
    violations.add(field, `has ${metadata.size} pairs; at most ${MAX_METADATA_PAIRS} are accepted`);
  }
  // The record has no prototype, so the key `__proto__` is an ordinary key.
  const record = Object.create(null) as Record<string, string>;
  let bytes = 0;
  let badKey = false;
  for (const [key, value] of metadata) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
    badKey ||= !isLabel(key);
    record[key] = value;
  }
  if (badKey) {
    violations.add(field, 'must not have a key that is empty or contains control characters or U+FFFD');
  }
  if (bytes > MAX_METADATA_BYTES) {
    violations.add(
      field,
      `has ${bytes} bytes of keys and values; at most ${MAX_METADATA_BYTES} are accepted`,
    );
  }
  return record;
}

/** Returns the id in lower case, because the store compares ids as texts. Undefined: the request has no id. */
export function checkRequestId(
  violations: Violations,
  field: string,
  requestId: string,
  required: boolean,
): string | undefined {
  if (requestId === '') {
    if (required) violations.add(field, 'is required: a UUID of version 4 or 7');
    return undefined;
  }
  if (UUID_V4_OR_V7.test(requestId)) return requestId.toLowerCase();
  violations.add(field, 'must be a UUID of version 4 or 7');
  return undefined;
}

/**
 * Checks the id only if another field is invalid. The engine checks the id of a request without other violations, so a
 * second check would only cost time.
 */
export function checkLeaseId(violations: Violations, field: string, service: Service, leaseId: string): void {
  if (violations.any && decodeLeaseId(service, leaseId) === undefined) {
    violations.add(field, `is not a lease_id that this service issued for a ${service}`);
  }
}

/** Checks an optional int32. Undefined: the field is unset, which differs from 0. */
export function checkCount(
  violations: Violations,
  field: string,
  count: number | undefined,
  min: 0 | 1,
): number | undefined {
  if (count === undefined || count >= min) return count;
  violations.add(field, `is ${count} and must be at least ${min}`);
  return undefined;
}

export interface TtlBounds {
  readonly minTtlMs: number;
  readonly maxTtlMs: number;
  /** Whether the policy has a smaller bound for the caller and the name than the server has for everybody. */
  readonly isOwn?: boolean;
}

/** A bound of the policy counts if it is smaller than that of the server, and never goes below the server's least ttl. */
export function ttlBounds(limits: TtlBounds, maxTtlMs: number | undefined): TtlBounds {
  if (maxTtlMs === undefined || maxTtlMs >= limits.maxTtlMs) return limits;
  const { minTtlMs } = limits;
  return { minTtlMs, maxTtlMs: Math.max(minTtlMs, maxTtlMs), isOwn: true };
}

/** Rounds down to whole milliseconds, so that no lease is longer than requested. Undefined: the ttl is unset. */
export function checkTtl(
  violations: Violations,
  field: string,
  ttl: Duration | undefined,
  bounds: TtlBounds,
): number | undefined {
  if (ttl === undefined) return undefined;
  const exact = durationToMs(ttl);
  if (exact === undefined) {
    violations.add(field, NO_DURATION);
    return undefined;
  }
  const ms = Math.floor(exact);
  if (ms >= bounds.minTtlMs && ms <= bounds.maxTtlMs) return ms;
  const range = `from ${timeSpan(bounds.minTtlMs)} to ${timeSpan(bounds.maxTtlMs)}`;
  const whose = bounds.isOwn === true ? ', the bound for this caller and name' : '';
  violations.add(field, `is ${timeSpan(exact)} and must be ${range}${whose}`);
  return undefined;
}

/** Rounds up to whole milliseconds, because 0 means "try once". Undefined: the timeout is unset. */
function checkWaitTimeout(
  violations: Violations,
  field: string,
  timeout: Duration | undefined,
): number | undefined {
  if (timeout === undefined) return undefined;
  const ms = durationToMs(timeout);
  if (ms === undefined) violations.add(field, NO_DURATION);
  else if (ms < 0) violations.add(field, `is ${timeSpan(ms)} and must not be negative`);
  else return Math.ceil(ms);
  return undefined;
}

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
export type ReadAmount<Request> = (
  violations: Violations,
  request: Request,
  path: FieldPath,
  rights: RequestRights,
) => PermitAmount;

export interface HoldStartMessage<Request> {
  readonly start?: { $case: 'acquire'; value: Request } | { $case: 'leaseId'; value: string } | undefined;
}

export const byName: CheckNames<{ readonly name: string }> = ({ name }, caller) => caller.require(name);

/** The handler leaves out the names that the caller may not read. */
export const filtered: CheckNames<object> = () => undefined;

/** The handler refuses a malformed lease_id, which names nothing. */
export const byLeaseId =
  (service: Service): CheckNames<{ readonly leaseId: string }> =>
  ({ leaseId }, caller) => {
    const id = decodeLeaseId(service, leaseId);
    if (id !== undefined) caller.require(id.resource.name);
  };

/** The handler refuses a request without a start. */
export const byStart =
  (service: Service): CheckNames<HoldStartMessage<{ readonly name: string }>> =>
  ({ start }, caller) => {
    if (start?.$case === 'acquire') byName(start.value, caller);
    else if (start !== undefined) byLeaseId(service)({ leaseId: start.value }, caller);
  };

export interface LeaseRequestReaders<Request> {
  readAcquire(
    request: Request,
    path: FieldPath,
    needsRequestId: boolean,
    rights: RequestRights,
  ): AcquireRequest;
  readStart(message: HoldStartMessage<Request>, rights: RequestRights): HoldStart;
}

/** The functions that check an acquire or hold request and translate it for the engine. They throw INVALID_FIELD. */
export function leaseRequestReaders<Request extends AcquireFields>(
  limits: Limits,
  readAmount: ReadAmount<Request>,
): LeaseRequestReaders<Request> {
  const readAcquire = (
    request: Request,
    path: FieldPath,
    needsRequestId: boolean,
    rights: RequestRights,
  ): AcquireRequest => {
    const violations = new Violations();
    const bounds = ttlBounds(limits, rights.maxTtlMs);
    checkName(violations, `${path}name`, request.name);
    checkHolderId(violations, `${path}holder_id`, request.holderId);
    const { mode, permitCount, initialLimit } = readAmount(violations, request, path, rights);
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

  const readStart = ({ start }: HoldStartMessage<Request>, rights: RequestRights): HoldStart => {
    switch (start?.$case) {
      case 'acquire': {
        const acquire = readAcquire(start.value, 'acquire.', true, rights);
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

/** The fields that ListLocksRequest and ListSemaphoresRequest share. */
export interface ListFields {
  readonly namePrefix: string;
  readonly holderId: string;
  readonly pageSize: number;
  readonly pageToken: string;
  readonly orderBy: ListOrder;
  readonly identity: string;
}

/** Checks the request of a list and translates it for the engine. Throws INVALID_FIELD. */
export function readList({
  namePrefix,
  holderId,
  identity,
  pageSize,
  pageToken,
  orderBy,
}: ListFields): ListRequest {
  const violations = new Violations();
  checkText(violations, 'name_prefix', namePrefix, MAX_NAME_BYTES);
  checkHolderId(violations, 'holder_id', holderId);
  if (identity !== '') checkText(violations, 'identity', identity, MAX_IDENTITY_BYTES);
  const request = {
    namePrefix,
    holderId,
    identity,
    pageSize: checkPageSize(violations, 'page_size', pageSize, LIST_PAGES),
    pageToken,
    order: readOrder(violations, orderBy),
  };
  if (request.order === 'waiter-count' && pageToken !== '') {
    violations.add('page_token', 'must be empty: a list with this order_by has one page');
  }
  violations.throwIfAny();
  return request;
}

function readOrder(violations: Violations, orderBy: ListOrder): ListRequest['order'] {
  switch (orderBy) {
    case ListOrder.LIST_ORDER_UNSPECIFIED:
      return 'fixed';
    case ListOrder.LIST_ORDER_WAITER_COUNT:
      return 'waiter-count';
    default:
      violations.add('order_by', `${orderBy} is not a ListOrder`);
      return 'fixed';
  }
}
