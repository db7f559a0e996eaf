import type { ExpiryObserved, Micros } from '../history';

/** The clocks of Redis and of this machine may differ in rate by this much. */
const RATE = 0.0005;

/**
 * The latest instant of this machine's clock that an end in Redis may stand for. Its time was read somewhere
 * between the two readings here, so the observation is as sharp as those are close.
 */
export function latestExpiry(observed: ExpiryObserved, expiryUs: Micros): Micros {
  const remaining = expiryUs - observed.redisTimeUs;
  return observed.at + remaining + Math.abs(remaining) * RATE;
}
