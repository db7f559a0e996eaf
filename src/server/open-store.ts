import type { Logger } from 'pino';
import type { Config } from './config/config';
import { systemClock } from '../base/clock';
import {
  connectStore,
  type CommandMeters,
  NotPermitted,
  probeStore,
  quarantineMs,
  type Security,
  type Store,
} from '../redis/topology/open';
import { StartError } from './start-error';
import { storeTrouble } from './store-trouble';

/** The start fails if Redis is not usable within this time. */
const CONNECT_TIMEOUT_MS = 10_000;

/** The number of different connection errors that are kept for the message. */
const MOST_ERRORS = 20;

/** Connects to Redis. Rejects with a StartError that says what is at the address, and what to do. */
export async function openStore(
  config: Config,
  security: Security,
  serverId: string,
  log: Logger,
  meters: CommandMeters,
): Promise<Store> {
  const { redis } = config;
  /** The texts of the connection errors, the latest last. */
  const errors = new Set<string>();
  const options = {
    address: redis.address,
    dictionaryAddress: config.dictionaryRedis?.address,
    replica: config.redisReplica?.address,
    security,
    prefix: config.redisPrefix,
    serverId,
    commandTimeoutMs: config.commandTimeoutMs,
    quarantineMs: quarantineMs(config.maxTtlMs),
    storeIsNew: config.storeIsNew,
    retentionMs: config.retentionMs,
    recentsRetentionMs: config.recentsRetentionMs,
    clock: systemClock,
    meters,
    // Level debug, because each failed attempt to reconnect calls this function. `logHealth` reports a lost store once.
    onWarning: (text: string) => log.warn({}, text),
    onError: (error: Error) => {
      errors.delete(error.message);
      errors.add(error.message);
      const [oldest] = errors;
      if (errors.size > MOST_ERRORS && oldest !== undefined) errors.delete(oldest);
      log.debug({ err: error }, 'the connection to the store failed');
    },
  };
  try {
    return await connectStore(options, CONNECT_TIMEOUT_MS);
  } catch (cause) {
    const place = `Redis cannot be used at ${redis.shown} (HOLDFAST_REDIS_URL)`;
    if (cause instanceof NotPermitted) throw new StartError(`${place}: ${cause.message}`, { cause });
    const found = await probeStore(redis.address, security);
    const trouble = storeTrouble(redis.address, found, [...errors]);
    throw new StartError(`${place}: ${trouble}`, { cause });
  }
}
