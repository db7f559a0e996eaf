import type { Call } from '../call';
import type { AcquireRequest } from './requests';

/** When a wait ends by itself, and whether it does so by age. */
export interface EndOfWait {
  readonly at: number;
  readonly aged: boolean;
}

/** The earliest of the request's own bound, the call's deadline and the wait's age. */
export function endOfWait(call: Call, request: AcquireRequest, agesAt: number): EndOfWait {
  const byRequest = call.receivedAt + (request.waitTimeoutMs ?? Infinity);
  const byDeadline = call.receivedAt + timeBeforeDeadline(call.timeoutMs);
  const at = Math.min(agesAt, byRequest, byDeadline);
  return { at, aged: at === agesAt };
}

/** A lease of this many ttls is renewed no longer by one stream. */
const LONGEST_AGE_TTLS = 200;
const JITTER = 0.1;

/**
 * Streams and waits end at an age, so that the drift of clocks never adds up; with jitter (`random` from 0 to
 * 1), so that not all of them do at once.
 */
export function agesAt(call: Call, ttlMs: number, maxAgeMs: number, random: number): number {
  return call.receivedAt + Math.min(maxAgeMs, LONGEST_AGE_TTLS * ttlMs) * (1 - JITTER * random);
}

const MIN_MARGIN_MS = 20;
const MAX_MARGIN_MS = 250;

/**
 * How long a call may wait so that its answer still arrives before its deadline: a wait that ends with an
 * answer leaves no reset stream behind. Not positive: there is only time to try once.
 */
function timeBeforeDeadline(timeoutMs: number | undefined): number {
  if (timeoutMs === undefined) return Infinity;
  return timeoutMs - Math.min(Math.max(timeoutMs / 10, MIN_MARGIN_MS), MAX_MARGIN_MS);
}
