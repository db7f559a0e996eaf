import type { Logger } from 'pino';
import type { Config } from '../config/config';
import { systemClock } from '../engine/clock';
import { connectStore, quarantineMs, type Store } from '../redis';
import { StartError } from './start-error';
import { redisSecurity } from './tls';

/** The start fails if Redis is not usable within this time. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Connects to Redis. Rejects with a StartError that names the last connection error. */
export async function openStore(config: Config, serverId: string, log: Logger): Promise<Store> {
  const { redis } = config;
  let lastError: Error | undefined;
  const options = {
    address: redis.address,
    replica: config.redisReplica?.address,
    security: redisSecurity(config),
    prefix: config.redisPrefix,
    serverId,
    commandTimeoutMs: config.commandTimeoutMs,
    quarantineMs: quarantineMs(config.maxTtlMs),
    storeIsNew: config.storeIsNew,
    retentionMs: config.retentionMs,
    recentsRetentionMs: config.recentsRetentionMs,
    clock: systemClock,
    // Level debug, because each failed attempt to reconnect calls this function. `logHealth` reports a lost store once.
    onError: (error: Error) => {
      lastError = error;
      log.debug({ err: error }, 'the connection to the store failed');
    },
  };
  try {
    return await connectStore(options, CONNECT_TIMEOUT_MS);
  } catch (cause) {
    const reason = lastError === undefined ? 'no answer' : lastError.message;
    throw new StartError(`Redis cannot be used at ${redis.shown} (HOLDFAST_REDIS_URL): ${reason}`, { cause });
  }
}
