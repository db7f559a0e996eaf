import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface RedisHost {
  readonly host: string;
  readonly port: number;
}

export interface RedisUser {
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** One Redis, without Sentinel and without Cluster. */
export interface SingleAddress {
  readonly kind: 'single';
  /** `redis://…`, `rediss://…`, or the path of a unix socket. */
  readonly url: string;
  readonly tls: boolean;
}

/** A master that the sentinels name. */
export interface SentinelAddress extends RedisUser {
  readonly kind: 'sentinel';
  readonly sentinels: readonly RedisHost[];
  /** The name by which the sentinels know the master. */
  readonly master: string;
  readonly db: number;
  readonly tls: boolean;
}

export interface ClusterAddress extends RedisUser {
  readonly kind: 'cluster';
  readonly seeds: readonly RedisHost[];
  readonly tls: boolean;
}

/** The address of the Redis that stores all state. */
export type StoreAddress = SingleAddress | SentinelAddress | ClusterAddress;

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

/** The version in package.json. Searches upwards, because sources and built files lie at different depths. */
export function readVersion(): string {
  for (let folder = __dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const file = join(folder, 'package.json');
    if (!existsSync(file)) continue;
    const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version?: unknown };
    if (typeof version === 'string') return version;
  }
  throw new Error(`no package.json with a version was found in ${__dirname} or a folder above`);
}
