import type { Call } from '../call';
import type { AcquireRequest } from './requests';

/** When a wait ends if nothing else ends it. */
export interface WaitEnd {
  readonly at: number;
  /** The wait reached its age limit before the time that its request allows. */
  readonly byAge: boolean;
}

/** The earliest of the request's wait_timeout, the call's deadline and the age limit. */
export function waitEnd(call: Call, request: AcquireRequest, ageLimitAt: number): WaitEnd {
  const byRequest = call.receivedAt + (request.waitTimeoutMs ?? Infinity);
  const byDeadline = call.receivedAt + timeBeforeDeadline(call.timeoutMs);
  const at = Math.min(ageLimitAt, byRequest, byDeadline);
  return { at, byAge: at === ageLimitAt };
}

/** One stream renews a lease for at most this many ttls. */
const MAX_AGE_TTLS = 200;
const JITTER = 0.1;

/**
 * When a stream or a wait is too old, so that clock drift never adds up (docs/design/leases.md, rule 1). `random` is
 * at least 0 and below 1: without jitter, all streams of a server would end together.
 */
export function ageLimitAt(call: Call, ttlMs: number, maxAgeMs: number, random: number): number {
  return call.receivedAt + Math.min(maxAgeMs, MAX_AGE_TTLS * ttlMs) * (1 - JITTER * random);
}

const MIN_MARGIN_MS = 20;
const MAX_MARGIN_MS = 250;

/**
 * How long a call may wait so that its answer still arrives before its deadline (docs/design/leases.md, rule 13). A
 * wait that ends with an answer resets no HTTP/2 stream. 0 or less: there is only time to try once.
 */
function timeBeforeDeadline(timeoutMs: number | undefined): number {
  if (timeoutMs === undefined) return Infinity;
  return timeoutMs - Math.min(Math.max(timeoutMs / 10, MIN_MARGIN_MS), MAX_MARGIN_MS);
}
