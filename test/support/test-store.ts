import { readConfig } from '../../src/server/config/config';
import { systemClock } from '../../src/base/clock';
import { connectStore, type Store } from '../../src/redis/topology/open';

const START_TIMEOUT_MS = 60_000;

export interface TestStoreOptions {
  readonly serverId: string;
  readonly commandTimeoutMs: number;
  /** How long the start waits for Redis. Default: long enough for a machine with busy cores. */
  readonly patienceMs?: number;
  readonly onError?: (error: Error) => void;
  /** The first part of every key. Default: one for tests. */
  readonly prefix?: string;
}

/** Connects one server's store to a Redis that is new, so that the store starts without a quarantine. */
export function connectTestStore(
  url: string,
  {
    serverId,
    commandTimeoutMs,
    patienceMs = START_TIMEOUT_MS,
    onError = () => undefined,
    prefix = 'test',
  }: TestStoreOptions,
): Promise<Store> {
  const options = {
    address: readConfig({ HOLDFAST_REDIS_URL: url }).redis.address,
    dictionaryAddress: undefined,
    replica: undefined,
    security: { tls: undefined, sentinelUser: undefined },
    prefix,
    serverId,
    commandTimeoutMs,
    quarantineMs: 600_000,
    storeIsNew: true,
    retentionMs: 3_600_000,
    recentsRetentionMs: undefined,
    clock: systemClock,
    onError,
  };
  return connectStore(options, patienceMs);
}
