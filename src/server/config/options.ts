import { redisAddress, sentinelUser, storeAddress } from './redis-options';
import { accessOptions } from './access-options';
import {
  byteCountOrAuto,
  countOption,
  durationOption,
  durationOrOff,
  fileOption,
  flag,
  keyPrefix,
  listenAddress,
  names,
  oneOf,
  option,
  optional,
  tcpAddressOrOff,
} from './values';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

const SINGLE_REDIS_FORMAT =
  '`redis://[user:password@]host[:port][/db]`, `rediss://…` for TLS, `redis+unix:///path`, or the absolute path of a Unix socket';

/** Every setting of the server, in the order of docs/configuration.md. */
export const options = {
  listen: option({
    name: 'HOLDFAST_LISTEN',
    default: '127.0.0.1:50051',
    format: '`host:port`, `[IPv6 address]:port` or `unix:/path`',
    example: '0.0.0.0:50051',
    about:
      'The address on which the server accepts clients. Port 0 lets the system choose a free port; the log line "listening" names the port. The program `holdfast` and the client packages cannot use a `unix:` address.',
    schema: listenAddress(),
  }),
  ...accessOptions,
  adminListen: option({
    name: 'HOLDFAST_ADMIN_LISTEN',
    default: '127.0.0.1:50052',
    format: '`host:port`, `[IPv6 address]:port` or `off`',
    example: '0.0.0.0:50052',
    about:
      'The address of the HTTP port for monitoring, with the pages `/metrics`, `/livez` and `/readyz`. The port has no TLS and needs no credential; its pages show no names of locks, no holders and no identities. Port 0 lets the system choose a free port; the log line "listening" names the port. With `off` there is no such port. If the setting is not set and its default is in use, for example by a second server of the machine, the server warns and has no such port.',
    schema: tcpAddressOrOff(),
  }),
  reflection: option({
    name: 'HOLDFAST_REFLECTION',
    default: '1',
    format: '`0` or `1`',
    example: '0',
    about:
      'Server reflection, with which tools such as grpcurl read the contract. Reflection needs no credential and shows no data.',
    schema: flag(),
  }),
  connectionMaxAgeMs: option({
    name: 'HOLDFAST_CONNECTION_MAX_AGE',
    default: 'off',
    format: 'duration, or `off`',
    range: '1s to 30d',
    example: '30m',
    about:
      'The age at which the server ends a connection, up to 10 % earlier or later. Clients then connect again, and so find added servers. Streams end with REATTACH, and their leases continue. Before the end of a session, the server asks its client to move, and the client has 30 s for this. Other calls may continue for the same age again, and for at least 60 s.',
    schema: durationOrOff('1s', '30d'),
  }),
  keepaliveTimeMs: durationOption({
    name: 'HOLDFAST_KEEPALIVE_TIME',
    default: '10s',
    from: '100ms',
    to: '1h',
    example: '30s',
    about:
      'The time between two HTTP/2 pings on a connection. Pings detect clients that have disappeared without closing their connection.',
  }),
  keepaliveTimeoutMs: durationOption({
    name: 'HOLDFAST_KEEPALIVE_TIMEOUT',
    default: '5s',
    from: '100ms',
    to: '1m',
    example: '10s',
    about:
      'The server closes a connection when a ping stays unanswered for this long. Streams end with REATTACH, other calls with UNAVAILABLE.',
  }),
  redis: option({
    name: 'HOLDFAST_REDIS_URL',
    required: true,
    format: `${SINGLE_REDIS_FORMAT}; \`redis+sentinel://[user:password@]host[:port],…/master[/db]\`; \`redis+cluster://[user:password@]host[:port],…\`; \`rediss+sentinel://…\` and \`rediss+cluster://…\` for TLS`,
    example: 'redis://127.0.0.1:6379',
    about:
      'The address of the Redis that stores all state: one Redis, the master that Redis Sentinel names, or a Redis Cluster. `npm start` runs a private Redis when this variable is not set.',
    schema: storeAddress(),
  }),
  redisPasswordFile: fileOption(
    'HOLDFAST_REDIS_PASSWORD_FILE',
    '/etc/holdfast/redis-password',
    'The password of the Redis user, for every address of Redis that has none in its text. At most 4 KiB; a line break at the end does not count. The server loads a changed file again without a restart and without ending a connection, and keeps the previous password while Redis refuses the new one (docs/operations/security.md).',
    'path of a file',
  ),
  redisPrefix: option({
    name: 'HOLDFAST_REDIS_PREFIX',
    default: 'holdfast',
    format: '1 to 64 letters, digits, `.`, `-` and `_`',
    example: 'holdfast-staging',
    about:
      'The first part of every Redis key. Servers with the same prefix on the same Redis share their locks, semaphores and dictionaries.',
    schema: keyPrefix(),
  }),
  redisReplica: optional({
    name: 'HOLDFAST_REDIS_REPLICA_URL',
    format: SINGLE_REDIS_FORMAT,
    example: 'redis://replica.example:6379',
    about:
      'A replica of the Redis that stores the dictionaries. The server loads the entries of dictionaries from the replica while it is available, and asks the master for changes, so answers are as current as without a replica. Leases never use the replica.',
    schema: redisAddress(),
  }),
  dictionaryRedis: optional({
    name: 'HOLDFAST_DICTIONARY_REDIS_URL',
    format: 'as HOLDFAST_REDIS_URL',
    example: 'redis://dictionaries.example:6379',
    about:
      'Another Redis that stores the dictionaries, so that large dictionaries take no memory and no time from leases. Recommended for more than about a million entries. Recents stay on the Redis in HOLDFAST_REDIS_URL. The settings for TLS and sentinels hold for both. The server stays ready while this Redis is down; only calls for dictionaries fail.',
    schema: storeAddress(),
  }),
  dictionaryMemoryBytes: option({
    name: 'HOLDFAST_DICTIONARY_MEMORY',
    default: 'auto',
    format: '`auto`, or a whole number and `KiB`, `MiB` or `GiB`',
    range: '16MiB to 64GiB',
    example: '4GiB',
    about:
      'The memory of this server for the indexes of dictionaries. docs/operations/dictionaries.md says how much an entry takes, and a load needs room for about four times as much. A dictionary that does not fit answers QUOTA_EXCEEDED; the dictionary that was not used for the longest time makes room for others. With `auto` the server uses a quarter of the memory of the container or machine, and at most 2GiB.',
    schema: byteCountOrAuto('16MiB', '64GiB'),
  }),
  preload: option({
    name: 'HOLDFAST_PRELOAD',
    default: '',
    format:
      'names of dictionaries, separated by `,`; `%2C` for a comma in a name and `%25` for a percent sign',
    example: 'cities,people',
    about:
      'Dictionaries that the server loads at its start, before it reports ready, so that no first query waits. Leases are served meanwhile. A dictionary that does not exist, or does not fit into the memory, is left out with a warning.',
    schema: names(),
  }),
  redisSentinelAuth: optional({
    name: 'HOLDFAST_REDIS_SENTINEL_AUTH',
    format: '`user:password` or `:password`, percent-encoded as in a URL',
    example: ':secret',
    about:
      'The user and password for the sentinels. The user and password in HOLDFAST_REDIS_URL are used only for Redis itself.',
    schema: sentinelUser(),
  }),
  redisTlsCa: fileOption(
    'HOLDFAST_REDIS_TLS_CA',
    '/etc/holdfast/redis-ca.pem',
    'The certificate authority that signed the certificates of Redis and the sentinels. Without this file the server trusts the well-known authorities.',
  ),
  redisTlsCert: fileOption(
    'HOLDFAST_REDIS_TLS_CERT',
    '/etc/holdfast/redis-client.pem',
    'The client certificate for connections to Redis. Redis requires a client certificate unless its setting `tls-auth-clients` is `no`. HOLDFAST_REDIS_TLS_KEY must be set too.',
  ),
  redisTlsKey: fileOption(
    'HOLDFAST_REDIS_TLS_KEY',
    '/etc/holdfast/redis-client.key',
    'The private key of the certificate in HOLDFAST_REDIS_TLS_CERT.',
  ),
  storeIsNew: option({
    name: 'HOLDFAST_STORE_IS_NEW',
    default: '0',
    format: '`0` or `1`',
    example: '1',
    about:
      'The value 1 asserts that no lease was ever granted on this Redis. The assertion is valid for one start, and only if Redis holds no data of Holdfast. Without the assertion the server cannot tell a new Redis from a Redis that has lost its data, and grants nothing for HOLDFAST_MAX_TTL plus 15 s.',
    schema: flag(),
  }),
  commandTimeoutMs: durationOption({
    name: 'HOLDFAST_COMMAND_TIMEOUT',
    default: '2s',
    from: '50ms',
    to: '1m',
    example: '500ms',
    about:
      'The longest time that the server waits for a reply from Redis. After this time the call fails with STORE_UNAVAILABLE or OUTCOME_UNKNOWN.',
  }),
  minTtlMs: durationOption({
    name: 'HOLDFAST_MIN_TTL',
    default: '100ms',
    from: '10ms',
    to: '24h',
    example: '1s',
    about: 'The smallest `ttl` that a request may ask for.',
  }),
  maxTtlMs: durationOption({
    name: 'HOLDFAST_MAX_TTL',
    default: '2m',
    from: '100ms',
    to: '24h',
    example: '5m',
    about:
      'The largest `ttl` that a request may ask for. Use a small ttl and renew leases: a crashed holder blocks all waiters until its lease expires.',
  }),
  defaultTtlMs: durationOption({
    name: 'HOLDFAST_DEFAULT_TTL',
    default: '30s',
    from: '10ms',
    to: '24h',
    example: '10s',
    about: 'The `ttl` of a request that sets no `ttl`.',
  }),
  maxStreamAgeMs: durationOption({
    name: 'HOLDFAST_STREAM_MAX_AGE',
    default: '1h',
    from: '1s',
    to: '1h',
    example: '30m',
    about:
      'The longest time that a hold stream, a watch or a wait may last. After this time a stream ends with REATTACH, and the wait of a unary call with CONTENDED. Sessions and their waits have no such limit.',
  }),
  maxWaitersPerName: countOption({
    name: 'HOLDFAST_MAX_WAITERS',
    default: '10000',
    from: 1,
    to: 1_000_000,
    example: '1000',
    about: 'The largest number of waiters for one name. Further requests fail with QUEUE_FULL.',
  }),
  maxStreams: countOption({
    name: 'HOLDFAST_MAX_STREAMS',
    default: '50000',
    from: 1,
    to: 1_000_000,
    example: '20000',
    about:
      'The largest number of open hold streams on this server, and the largest number of open watches. A stream takes about 20 kB of memory. Further streams fail with QUOTA_EXCEEDED.',
  }),
  retentionMs: durationOption({
    name: 'HOLDFAST_RETENTION',
    default: '1d',
    from: '10m',
    to: '365d',
    example: '7d',
    about:
      'How long Redis keeps the state of a name that nobody uses. This time must not be less than HOLDFAST_MAX_TTL.',
  }),
  recentsRetentionMs: option({
    name: 'HOLDFAST_RECENTS_RETENTION',
    default: '90d',
    format: 'duration, or `off`',
    range: '1h to 3650d',
    example: '30d',
    about:
      'How long Redis keeps a list of recents after the last item was added to it. With `off` Redis keeps the list until it is deleted.',
    schema: durationOrOff('1h', '3650d'),
  }),
  drainTimeoutMs: durationOption({
    name: 'HOLDFAST_DRAIN_TIMEOUT',
    default: '15s',
    from: '100ms',
    to: '10m',
    example: '25s',
    about:
      'How long calls and streams may continue after SIGTERM. This time must be shorter than the time after which your process manager kills the server.',
  }),
  logLevel: option({
    name: 'HOLDFAST_LOG_LEVEL',
    default: 'info',
    format: LOG_LEVELS.map((level) => `\`${level}\``).join(', '),
    example: 'debug',
    about: 'The lowest level that is logged. The log is one JSON object per line on standard output.',
    schema: oneOf(LOG_LEVELS),
  }),
  development: option({
    name: 'HOLDFAST_DEVELOPMENT',
    default: '0',
    format: '`0` or `1`',
    example: '1',
    about:
      '`npm start` sets this variable to 1. The log line "listening" then says that this is a development server.',
    schema: flag(),
  }),
} as const;
