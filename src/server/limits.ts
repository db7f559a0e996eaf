import type { Config } from './config/config';
import { defaultLimits, type Limits } from '../leases/limits';

/** The settings that limit the requests of callers. */
export function limitsOf(config: Config): Limits {
  const { minTtlMs, maxTtlMs, defaultTtlMs, maxStreamAgeMs, maxWaitersPerName, maxStreams } = config;
  return {
    ...defaultLimits,
    minTtlMs,
    maxTtlMs,
    defaultTtlMs,
    maxStreamAgeMs,
    maxWaitersPerName,
    maxStreams,
  };
}
