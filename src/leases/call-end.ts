import { answerWithinMs } from '../base/answer-time';
import type { Call } from '../base/call';
import type { AcquireRequest } from './lease-requests';

export interface WaitEnd {
  readonly at: number;
  /** True: the age limit ends the wait earlier than the request and the call's deadline. */
  readonly byAge: boolean;
}

/** The end of a wait: the earliest of the request's wait_timeout, the call's deadline and the age limit. */
export function waitEnd(call: Call, request: AcquireRequest, ageLimitAt: number): WaitEnd {
  const byRequest = call.receivedAt + (request.waitTimeoutMs ?? Infinity);
  const byDeadline = call.receivedAt + answerWithinMs(call.timeoutMs);
  const at = Math.min(ageLimitAt, byRequest, byDeadline);
  return { at, byAge: at === ageLimitAt && at < Infinity };
}

/** The longest age of a stream or a wait, in ttls. */
const MAX_AGE_TTLS = 200;
const JITTER = 0.1;

/**
 * The time at which a stream or a wait must end, so that clock drift does not add up (docs/design/leases.md, rule 1).
 * The server's clock is exact enough for this limit: the lease continues after the limit, and the client's deadline
 * comes from the offset alone. `random` is at least 0 and below 1. Without jitter, all streams of a server would end
 * together. A session has no age limit, because its offsets count from its latest heartbeat.
 */
export function ageLimitAt(call: Call, ttlMs: number, maxAgeMs: number, random: number): number {
  if (call.session !== undefined) return Infinity;
  return call.receivedAt + Math.min(maxAgeMs, MAX_AGE_TTLS * ttlMs) * (1 - JITTER * random);
}

/** When the client gives up the call (ms, monotonic clock). Undefined: never. */
export function callDeadline({ receivedAt, timeoutMs }: Call): number | undefined {
  return timeoutMs === undefined ? undefined : receivedAt + timeoutMs;
}
