import type { ExpiryObserved, Micros } from '../history';

/** The assumed bound on the difference of clock rates. */
const RATE = 0.0005;

/**
 * The latest instant, on this machine's clock, of an end in Redis. Redis read its time between the two clock readings
 * of the observation, so the distance between the readings is the uncertainty.
 */
export function latestExpiry(observed: ExpiryObserved, expiryUs: Micros): Micros {
  const remaining = expiryUs - observed.redisTimeUs;
  return observed.at + remaining + Math.abs(remaining) * RATE;
}
