import type { Duration } from '../../../generated/typescript/google/protobuf/duration';
import type { Service } from '../lease';
import { decodeLeaseId } from '../lease-id';
import { MAX_HOLDER_ID_BYTES, MAX_METADATA_BYTES, MAX_METADATA_PAIRS } from '../limits';
import { timeSpan } from '../../base/time-span';
import { durationToMs } from '../../rpc/times';
import { checkText, isLabel, type Violations } from '../../rpc/fields';

/** Checks of the fields that only leases have. `grpc/fields.ts` has the shared checks. */

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
export function checkWaitTimeout(
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
