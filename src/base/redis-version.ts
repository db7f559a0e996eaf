/**
 * The oldest supported version of Redis. The scripts of Holdfast declare `#!lua flags=allow-oom`, so that leases can
 * be renewed and released while Redis is out of memory. Redis knows script flags since 7.0, and every Valkey does.
 */
export const OLDEST_REDIS = '7.0';

/** `version` is a full version, such as "7.0.15". Returns false for any other text. */
export function isSupportedRedis(version: string): boolean {
  const [major = NaN, minor = NaN] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_REDIS.split('.').map(Number);
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}
