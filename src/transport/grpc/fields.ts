import type { Duration } from '../../../generated/typescript/google/protobuf/duration';
import { HoldfastError, type FieldViolation } from '../../engine/errors';
import type { Service } from '../../engine/leases/lease';
import { decodeLeaseId } from '../../engine/leases/lease-id';
import { MAX_HOLDER_ID_BYTES, MAX_METADATA_BYTES, MAX_METADATA_PAIRS } from '../../engine/leases/limits';
import { MAX_NAME_BYTES } from '../../engine/names';
import { timeSpan } from '../../engine/time-span';
import { durationToMs } from '../../wire/times';

/**
 * Checks of single fields, each of which notes what is wrong and goes on, so that a caller learns of every bad
 * field at once. A good request must cost next to nothing here: it is on every call's way.
 */

/** Unicode's control characters: NUL, line breaks, escapes of a terminal; C1 too. */
const CONTROL = /\p{Cc}/u;
/** What bytes that are no UTF-8 are decoded to: two different names would meet in it. */
const REPLACEMENT = '\u{FFFD}';
const UUID_V4_OR_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
/** No UTF-16 unit is more bytes in UTF-8. */
const MOST_BYTES_PER_UNIT = 3;

export class Violations {
  private list: FieldViolation[] | undefined;

  add(field: string, description: string): void {
    this.list ??= [];
    this.list.push({ field, description });
  }

  get any(): boolean {
    return this.list !== undefined;
  }

  get count(): number {
    return this.list?.length ?? 0;
  }

  /** Ends the call if anything was noted. */
  throwIfAny(): void {
    if (this.list !== undefined) this.refuse();
  }

  refuse(): never {
    const violations = this.list ?? [];
    const named = violations.map(({ field, description }) => `${field} ${description}`);
    throw new HoldfastError('INVALID_FIELD', named.join('; '), { violations });
  }
}

export function checkName(violations: Violations, field: string, name: string): void {
  if (name === '') violations.add(field, 'is required');
  else checkText(violations, field, name, MAX_NAME_BYTES);
}

/** Of a request that has nothing else to check. */
export function refuseBadName(name: string): void {
  const violations = new Violations();
  checkName(violations, 'name', name);
  violations.throwIfAny();
}

export function checkHolderId(violations: Violations, field: string, holderId: string): void {
  if (holderId !== '') checkText(violations, field, holderId, MAX_HOLDER_ID_BYTES);
}

/** Any text that may be empty: up to so many bytes, and none of the characters that names have not either. */
export function checkText(violations: Violations, field: string, text: string, maxBytes: number): void {
  if (text.length * MOST_BYTES_PER_UNIT > maxBytes) {
    const bytes = Buffer.byteLength(text);
    if (bytes > maxBytes)
      violations.add(field, `is ${bytes} bytes of UTF-8, ${maxBytes} at most are accepted`);
  }
  checkCharacters(violations, field, text);
}

function checkCharacters(violations: Violations, field: string, text: string): void {
  if (CONTROL.test(text)) violations.add(field, 'must not contain control characters');
  if (text.includes(REPLACEMENT)) violations.add(field, 'must be valid UTF-8 without U+FFFD');
}

const NO_METADATA: Readonly<Record<string, string>> = Object.freeze({});

/** Keys are labels, as `holder_id` is one; values are the caller's data, whatever characters they have. */
export function checkMetadata(
  violations: Violations,
  field: string,
  metadata: ReadonlyMap<string, string>,
): Readonly<Record<string, string>> {
  if (metadata.size === 0) return NO_METADATA;
  if (metadata.size > MAX_METADATA_PAIRS) {
    violations.add(field, `has ${metadata.size} pairs, ${MAX_METADATA_PAIRS} at most are accepted`);
  }
  // Without a prototype, so that a key `__proto__` is one like any other.
  const record = Object.create(null) as Record<string, string>;
  let bytes = 0;
  let badKey = false;
  for (const [key, value] of metadata) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
    badKey ||= key === '' || CONTROL.test(key) || key.includes(REPLACEMENT);
    record[key] = value;
  }
  if (badKey) {
    violations.add(field, 'must not have a key that is empty or contains control characters or U+FFFD');
  }
  if (bytes > MAX_METADATA_BYTES) {
    violations.add(
      field,
      `has ${bytes} bytes of keys and values, ${MAX_METADATA_BYTES} at most are accepted`,
    );
  }
  return record;
}

/** The id in lower case, which is how the store knows it; undefined if there is none. */
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

/** Only where something else is wrong too: the engine, which has to read the id anyhow, says it otherwise. */
export function checkLeaseId(violations: Violations, field: string, service: Service, leaseId: string): void {
  if (violations.any && decodeLeaseId(service, leaseId) === undefined) {
    violations.add(field, `is not a lease_id that this service gave out for a ${service}`);
  }
}

/** An int32; undefined if it is unset, which says something else than 0. */
export function checkCount(
  violations: Violations,
  field: string,
  count: number | undefined,
  least: 0 | 1,
): number | undefined {
  if (count === undefined || count >= least) return count;
  violations.add(field, `is ${count} and must be at least ${least}`);
  return undefined;
}

export interface TtlBounds {
  readonly minTtlMs: number;
  readonly maxTtlMs: number;
}

/** In whole milliseconds, rounded down: nobody is to hold longer than asked. Undefined if it is unset. */
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
  violations.add(field, `is ${timeSpan(exact)} and must be ${range}`);
  return undefined;
}

/** In whole milliseconds, rounded up: only a true zero means "try once". Undefined if it is unset. */
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

const NO_DURATION = 'is no valid Duration: seconds and nanos must be in range and of the same sign';
