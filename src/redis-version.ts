/**
 * The oldest Redis that Holdfast runs on. Its scripts declare `#!lua flags=allow-oom`, so that leases can be
 * renewed and released while Redis is out of memory; script flags came with Redis 7.0. The first Valkey is 7.2.
 */
export const OLDEST_REDIS = '7.0';

/** `version` is a full version such as "7.0.15". False where it is not a version at all. */
export function isSupportedRedis(version: string): boolean {
  const [major = NaN, minor = NaN] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_REDIS.split('.').map(Number);
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}
