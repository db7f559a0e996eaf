import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Logger } from 'pino';
import { systemClock } from '../base/clock';
import type { Script } from '../redis/script';
import {
  type CommandMeters,
  type HostFinding,
  NotPermitted,
  openStoreRedis,
  probeStore,
  quarantineMs,
  RedisPassword,
  type RedisSettings,
  type Security,
  type StoreRedis,
} from '../redis/topology/open';
import type { Config } from './config/config';
import { StartError } from './startup';

type StoreAddress = Config['redis']['address'];

/** More hosts are not described. */
const MOST_HOSTS = 3;
/** Errors of ioredis that only say that there is no connection. */
const UNTELLING = /^(Stream isn't writeable|Connection is closed|Command timed out|write E)/;

/**
 * Says why the store cannot be used, and what to do. `found` is what answers at the hosts of the address, and `errors` are
 * the texts of the connection errors, the latest last. The result contains no password.
 */
export function storeTrouble(
  address: StoreAddress,
  found: readonly HostFinding[],
  errors: readonly string[],
): string {
  const others = found.filter((one) => one.found.kind !== 'redis');
  const refusal = errors.map((error) => refusalText(error, address)).find((text) => text !== undefined);
  const hasRedis = others.length < found.length;
  if (hasRedis && refusal !== undefined) return refusal;
  if (others.length > 0) {
    const described = others.slice(0, MOST_HOSTS).map((one) => findingText(one, address));
    return described.join('; ') + (others.length > MOST_HOSTS ? '; …' : '');
  }
  const telling = errors.filter((error) => !UNTELLING.test(error)).at(-1);
  return telling ?? errors.at(-1) ?? 'a Redis answers there, but is not usable yet; start again';
}

/** What a refusal of Redis means for the operator. Undefined: the text is no known refusal. */
function refusalText(error: string, { kind }: StoreAddress): string | undefined {
  const users =
    kind === 'sentinel'
      ? 'in HOLDFAST_REDIS_URL for Redis, and in HOLDFAST_REDIS_SENTINEL_AUTH for the sentinels'
      : 'in HOLDFAST_REDIS_URL';
  if (error.startsWith('WRONGPASS')) {
    return `Redis refuses the user or the password; correct them ${users}, or in HOLDFAST_REDIS_PASSWORD_FILE`;
  }
  if (error.startsWith('NOAUTH')) return `Redis requires a password; set user and password ${users}`;
  if (error.startsWith('NOPERM')) {
    return `the Redis user lacks a permission (${error}); correct the user ${users} with the line of docs/operations/deploy.md#redis-user, or use another user`;
  }
  if (error.startsWith('DENIED')) {
    return `Redis is in protected mode and accepts only connections from its own machine; set a password for Redis, and add the password to HOLDFAST_REDIS_URL`;
  }
  if (/DB index is out of range/i.test(error)) {
    return 'Redis does not have the database of HOLDFAST_REDIS_URL; use a lower number, or raise `databases` in the configuration of Redis';
  }
  if (error.startsWith('LOADING'))
    return 'Redis is loading its data; start again when Redis has loaded the data';
  if (/cluster support disabled/.test(error)) {
    return 'this Redis is not part of a Cluster; use redis:// or rediss:// in HOLDFAST_REDIS_URL';
  }
  if (/unknown command ['`]?SENTINEL/i.test(error)) {
    return 'a Redis answers instead of a sentinel; give the hosts of the sentinels (default port 26379), or use redis:// in HOLDFAST_REDIS_URL';
  }
  return undefined;
}

const CORRECT = 'correct the address';

function findingText({ host, found }: HostFinding, address: StoreAddress): string {
  switch (found.kind) {
    case 'unreachable':
      return unreachableText(host, found.code, found.message);
    case 'http':
      return `an HTTP server answers at ${host}, not a Redis; ${CORRECT}`;
    case 'other':
      return `no Redis answers at ${host}, but a server whose answer begins with ${JSON.stringify(found.greeting)}; ${CORRECT}`;
    case 'silent':
      return `${host} accepts connections but does not answer: a Redis that hangs, or no Redis; check the process there, or ${CORRECT}`;
    case 'closed':
      return `${host} closes each connection without an answer: no Redis, or a Redis with too many clients; check the process there, or ${CORRECT}`;
    case 'expects-tls':
      return `${host} expects TLS; write ${schemeOf(address, true)} in HOLDFAST_REDIS_URL`;
    case 'expects-no-tls':
      return `the Redis at ${host} does not speak TLS; write ${schemeOf(address, false)} in HOLDFAST_REDIS_URL, or turn on TLS in Redis`;
    case 'tls-failed':
      return `the TLS connection to ${host} fails: ${found.message}; check HOLDFAST_REDIS_TLS_CA (the authority of Redis's certificate), and HOLDFAST_REDIS_TLS_CERT and HOLDFAST_REDIS_TLS_KEY if Redis requires a client certificate`;
    case 'redis':
      return `a Redis answers at ${host}`;
  }
}

function unreachableText(host: string, code: string, message: string): string {
  switch (code) {
    case 'ECONNREFUSED':
      return `nothing listens at ${host} (connection refused); start Redis, or ${CORRECT}`;
    case 'ENOENT':
      return `there is no socket ${host}; start Redis, or ${CORRECT}`;
    case 'EACCES':
      return `this user may not use the socket ${host}; change the permissions of the socket (unixsocketperm)`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the name of ${host} cannot be resolved (${code}); ${CORRECT}, or check the DNS`;
    default:
      return `${host} cannot be reached (${message}); check network and firewalls, or ${CORRECT}`;
  }
}

function schemeOf({ kind }: StoreAddress, tls: boolean): string {
  return `${tls ? 'rediss' : 'redis'}${kind === 'single' ? '' : `+${kind}`}://`;
}

export interface OpenedStore {
  /** The Redis of the leases. */
  readonly redis: StoreRedis;
  /** Of every connection to a Redis. */
  readonly settings: RedisSettings;
  /** Resolves when Redis answers. Rejects with a StartError that says what is at the address, and what to do. */
  ready(): Promise<void>;
}

/** The start fails if Redis is not usable within this time. */
const CONNECT_TIMEOUT_MS = 10_000;

/** The number of different connection errors that are kept for the message. */
const MOST_ERRORS = 20;

/**
 * Begins to connect to Redis.
 * @param scripts the scripts of all products
 */
export function openStore(
  config: Config,
  security: Security,
  serverId: string,
  log: Logger,
  meters: CommandMeters,
  scripts: readonly Script[],
): OpenedStore {
  const settings = {
    security,
    prefix: config.redisPrefix,
    serverId,
    commandTimeoutMs: config.commandTimeoutMs,
    quarantineMs: quarantineMs(config.maxTtlMs),
    storeIsNew: config.storeIsNew,
    clock: systemClock,
    meters,
    // Level debug, because each failed attempt to reconnect calls this function. `logHealth` reports a lost store once.
    onWarning: (text: string) => log.warn({}, text),
    onError: (error: Error) => log.debug({ err: error }, 'the connection to the store failed'),
  };
  const { address, shown } = config.redis;
  /** The texts of the errors of the connections to the Redis of the leases, the latest last. */
  const errors = new Set<string>();
  const onError = (error: Error): void => {
    errors.delete(error.message);
    errors.add(error.message);
    const [oldest] = errors;
    if (errors.size > MOST_ERRORS && oldest !== undefined) errors.delete(oldest);
    settings.onError(error);
  };
  const redis = openStoreRedis(address, { ...settings, scripts, onError });
  const ready = async (): Promise<void> => {
    try {
      await redis.ready(CONNECT_TIMEOUT_MS);
    } catch (cause) {
      const place = `Redis cannot be used at ${shown} (HOLDFAST_REDIS_URL)`;
      if (cause instanceof NotPermitted) throw new StartError(`${place}: ${cause.message}`, { cause });
      // The connections go on while the probe runs.
      const reported = [...errors];
      const found = await probeStore(address, security);
      throw new StartError(`${place}: ${storeTrouble(address, found, reported)}`, { cause });
    }
  };
  return { redis, settings, ready };
}

/** The TLS files, the Sentinel user and the changing password for the connections to Redis. */
export function redisSecurity(config: Config): Security {
  const { redisSentinelAuth, redisTlsCa, redisTlsCert, redisTlsKey } = config;
  const tls = {
    ca: readPemIfSet('HOLDFAST_REDIS_TLS_CA', redisTlsCa),
    cert: readPemIfSet('HOLDFAST_REDIS_TLS_CERT', redisTlsCert),
    key: readPemIfSet('HOLDFAST_REDIS_TLS_KEY', redisTlsKey),
  };
  try {
    createSecureContext({ ...(tls.ca && { ca: tls.ca }), ...(tls.cert && { cert: tls.cert, key: tls.key }) });
  } catch (cause) {
    throw new StartError(
      `HOLDFAST_REDIS_TLS_CA, HOLDFAST_REDIS_TLS_CERT and HOLDFAST_REDIS_TLS_KEY cannot be used: ${String(cause)}`,
      { cause },
    );
  }
  const password = config.redisPasswordFile === undefined ? undefined : new RedisPassword();
  return { tls, sentinelUser: redisSentinelAuth?.user, password };
}

/** The certificates in use towards Redis, with the names of their settings. */
export function redisCertificates({ tls }: Security) {
  const { ca, cert } = tls ?? {};
  return [
    ...(ca ? [{ use: 'redis-authority', setting: 'HOLDFAST_REDIS_TLS_CA', pem: ca } as const] : []),
    ...(cert ? [{ use: 'redis-client', setting: 'HOLDFAST_REDIS_TLS_CERT', pem: cert } as const] : []),
  ];
}

function readPemIfSet(variable: string, path: string | undefined): Buffer | undefined {
  return path === undefined ? undefined : readPem(variable, path);
}

function readPem(variable: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new StartError(`${variable} cannot be read: ${String(cause)}`, { cause });
  }
}
