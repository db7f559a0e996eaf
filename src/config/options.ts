import type { z } from 'zod';
import { count, duration, durationOrOff, filePath, flag, keyPrefix, listenAddress, oneOf } from './values';
import { redisAddress, sentinelUser, storeAddress } from './redis-options';

/** A setting whose value is a T. */
export interface Option<T> {
  /** The environment variable. */
  readonly name: `HOLDFAST_${string}`;
  /** As it would be written. */
  readonly default?: string;
  /** The server does not start without it. */
  readonly required?: true;
  readonly accepts: string;
  /** For the operator: what it does, and when to change it. */
  readonly about: string;
  readonly schema: z.ZodType<T, string>;
}

/** A setting that always has a value: it has a default or is required. */
function option<T>(
  entry: Option<T> & ({ readonly default: string } | { readonly required: true }),
): Option<T> {
  return entry;
}

function optional<T>(entry: Option<T>): Option<T | undefined> {
  return entry;
}

function span(name: Option<number>['name'], usual: string, from: string, to: string, about: string) {
  const schema = duration(from, to);
  return option({ name, default: usual, accepts: `duration, ${from} to ${to}`, about, schema });
}

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/**
 * Every setting of the server. The parser and the README's table are both made from this list. Durations are
 * written like `500ms`, `30s`, `2m`, `1h`.
 */
export const options = {
  listen: option({
    name: 'HOLDFAST_LISTEN',
    default: '127.0.0.1:50051',
    accepts: '`host:port`, `[IPv6]:port` or `unix:/path`',
    about: 'Where clients connect. Port 0 takes a free one, which the log then names.',
    schema: listenAddress(),
  }),
  redis: option({
    name: 'HOLDFAST_REDIS_URL',
    required: true,
    accepts:
      '`redis://[user:password@]host[:port][/db]`, `rediss://…`, `redis+unix:///path` or a path, `redis+sentinel://[user:password@]host[:port],…/master[/db]`, `redis+cluster://[user:password@]host[:port],…`, `rediss+…`',
    about:
      'The Redis that keeps the state: one, the master that Sentinel names, or a Cluster. `npm start` brings its own if this is not set.',
    schema: storeAddress(),
  }),
  redisPrefix: option({
    name: 'HOLDFAST_REDIS_PREFIX',
    default: 'holdfast',
    accepts: '1 to 64 letters, digits, `.`, `-`, `_`',
    about: 'First part of every key. Servers with the same one share their locks.',
    schema: keyPrefix(),
  }),
  redisReplica: optional({
    name: 'HOLDFAST_REDIS_REPLICA_URL',
    accepts: '`redis://[user:password@]host[:port][/db]`, `rediss://…`, `redis+unix:///path` or a path',
    about:
      'A replica of that Redis, which answers Suggest, SuggestStream and ListEntries while it can, as of a moment ago; leases never use it.',
    schema: redisAddress(),
  }),
  redisSentinelAuth: optional({
    name: 'HOLDFAST_REDIS_SENTINEL_AUTH',
    accepts: '`user:password` or `:password`',
    about: 'What the sentinels themselves ask for; user and password of the address are for Redis alone.',
    schema: sentinelUser(),
  }),
  redisTlsCa: optional({
    name: 'HOLDFAST_REDIS_TLS_CA',
    accepts: 'path of a PEM file',
    about:
      'Whose certificates are trusted of Redis and the sentinels, where that is not one of the known authorities.',
    schema: filePath(),
  }),
  redisTlsCert: optional({
    name: 'HOLDFAST_REDIS_TLS_CERT',
    accepts: 'path of a PEM file',
    about:
      'Certificate that this server shows to Redis, which asks for one unless `tls-auth-clients` is `no`.',
    schema: filePath(),
  }),
  redisTlsKey: optional({
    name: 'HOLDFAST_REDIS_TLS_KEY',
    accepts: 'path of a PEM file',
    about: 'Private key of that certificate.',
    schema: filePath(),
  }),
  storeIsNew: option({
    name: 'HOLDFAST_STORE_IS_NEW',
    default: '0',
    accepts: '`0` or `1`',
    about:
      'Your word, for this start, that no lease was ever kept there where Redis knows nothing of Holdfast. Without it a new Redis looks like one that has forgotten, and grants pause at first for HOLDFAST_MAX_TTL and 15 s.',
    schema: flag(),
  }),
  commandTimeoutMs: span(
    'HOLDFAST_COMMAND_TIMEOUT',
    '2s',
    '50ms',
    '1m',
    'How long Redis may take to answer before a call ends with STORE_UNAVAILABLE or OUTCOME_UNKNOWN.',
  ),
  tlsCert: optional({
    name: 'HOLDFAST_TLS_CERT',
    accepts: 'path of a PEM file',
    about: 'Certificate chain of the server. With it and the key clients connect by TLS, and only so.',
    schema: filePath(),
  }),
  tlsKey: optional({
    name: 'HOLDFAST_TLS_KEY',
    accepts: 'path of a PEM file',
    about: 'Private key of the certificate.',
    schema: filePath(),
  }),
  minTtlMs: span('HOLDFAST_MIN_TTL', '100ms', '10ms', '24h', 'The shortest `ttl` that is accepted.'),
  maxTtlMs: span(
    'HOLDFAST_MAX_TTL',
    '2m',
    '100ms',
    '24h',
    'The longest `ttl` that is accepted. Keep it small and renew: a crashed holder blocks the others for so long.',
  ),
  defaultTtlMs: span('HOLDFAST_DEFAULT_TTL', '30s', '10ms', '24h', 'The `ttl` of a request that has none.'),
  maxStreamAgeMs: span(
    'HOLDFAST_STREAM_MAX_AGE',
    '1h',
    '1s',
    '1h',
    'Greatest age of a hold stream and of a wait; then they end with REATTACH, a unary wait with CONTENDED.',
  ),
  maxWaitersPerName: option({
    name: 'HOLDFAST_MAX_WAITERS',
    default: '10000',
    accepts: 'whole number, 1 to 1000000',
    about: 'How many may wait for one name before QUEUE_FULL.',
    schema: count(1, 1_000_000),
  }),
  maxStreams: option({
    name: 'HOLDFAST_MAX_STREAMS',
    default: '50000',
    accepts: 'whole number, 1 to 1000000',
    about: 'How many hold streams this server keeps open, about 20 kB each, before QUOTA_EXCEEDED.',
    schema: count(1, 1_000_000),
  }),
  retentionMs: span(
    'HOLDFAST_RETENTION',
    '1d',
    '10m',
    '365d',
    'How long Redis keeps what it knows of an idle name.',
  ),
  recentsRetentionMs: option({
    name: 'HOLDFAST_RECENTS_RETENTION',
    default: '90d',
    accepts: 'duration, 1h to 3650d, or `off`',
    about:
      'How long Redis keeps a list of recents after the last one was added to it; `off`: until it is deleted.',
    schema: durationOrOff('1h', '3650d'),
  }),
  keepaliveTimeMs: span(
    'HOLDFAST_KEEPALIVE_TIME',
    '10s',
    '100ms',
    '1h',
    'How often each connection is pinged, to notice clients that are gone without a word.',
  ),
  keepaliveTimeoutMs: span(
    'HOLDFAST_KEEPALIVE_TIMEOUT',
    '5s',
    '100ms',
    '1m',
    'How long such a ping may stay unanswered before the connection is closed.',
  ),
  drainTimeoutMs: span(
    'HOLDFAST_DRAIN_TIMEOUT',
    '15s',
    '100ms',
    '10m',
    'How long SIGTERM lets calls and streams end before it cuts them. Stay below the grace of your process manager.',
  ),
  logLevel: option({
    name: 'HOLDFAST_LOG_LEVEL',
    default: 'info',
    accepts: LOG_LEVELS.map((level) => `\`${level}\``).join(', '),
    about: 'The log is one JSON object a line, on standard output.',
    schema: oneOf(LOG_LEVELS),
  }),
  development: option({
    name: 'HOLDFAST_DEVELOPMENT',
    default: '0',
    accepts: '`0` or `1`',
    about: 'Set by `npm start`: the log says that this server is one for development.',
    schema: flag(),
  }),
} as const;
