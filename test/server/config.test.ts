import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { ConfigError, readConfig, settingsWarnings } from '../../src/server/config/config';
import type { Option } from '../../src/server/config/values';
import { options } from '../../src/server/config/options';
import { configurationPage } from '../../tools/configuration-docs';
import { scratchFolder } from '../support/scratch-folder';

const REDIS = 'redis://127.0.0.1:6379';
const read = (env: NodeJS.ProcessEnv) => readConfig({ HOLDFAST_REDIS_URL: REDIS, ...env });

function problemsOf(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

test('readConfig requires only HOLDFAST_REDIS_URL, and has a default for every other setting', () => {
  expect(read({})).toEqual({
    listen: { kind: 'tcp', host: '127.0.0.1', port: 50_051 },
    redis: { shown: REDIS },
    redisPrefix: 'holdfast',
    storeIsNew: false,
    commandTimeoutMs: 2000,
    tlsCert: undefined,
    tlsKey: undefined,
    tlsClientCa: undefined,
    authTokens: undefined,
    authJwtIssuer: undefined,
    authJwtAudience: undefined,
    authJwtJwks: undefined,
    authJwtClaim: 'sub',
    policy: undefined,
    quotaLeases: undefined,
    quotaWaiters: undefined,
    quotaStreams: undefined,
    quotaSessions: undefined,
    quotaCommandsPerSecond: undefined,
    quotaEntries: undefined,
    quotaBytes: undefined,
    insecure: { tls: false, auth: false, jwks: false },
    adminListen: { kind: 'tcp', host: '127.0.0.1', port: 50_052 },
    adminListenIsSet: false,
    reflection: true,
    connectionMaxAgeMs: undefined,
    minTtlMs: 100,
    maxTtlMs: 120_000,
    defaultTtlMs: 30_000,
    maxStreamAgeMs: 3_600_000,
    maxWaitersPerName: 10_000,
    maxStreams: 50_000,
    retentionMs: 86_400_000,
    redisReplica: undefined,
    dictionaryRedis: undefined,
    dictionaryMemoryBytes: undefined,
    preload: [],
    redisSentinelAuth: undefined,
    redisTlsCa: undefined,
    redisTlsCert: undefined,
    redisTlsKey: undefined,
    recentsRetentionMs: 90 * 86_400_000,
    keepaliveTimeMs: 10_000,
    keepaliveTimeoutMs: 5000,
    drainTimeoutMs: 15_000,
    logLevel: 'info',
    development: false,
  });
});

test('HOLDFAST_ADMIN_LISTEN is an address of TCP or off', () => {
  expect(read({ HOLDFAST_ADMIN_LISTEN: '127.0.0.1:50052' }).adminListenIsSet).toBe(true);
  expect(read({ HOLDFAST_ADMIN_LISTEN: '' }).adminListenIsSet).toBe(false);
  expect(read({ HOLDFAST_ADMIN_LISTEN: 'off' }).adminListen).toBeUndefined();
  expect(read({ HOLDFAST_ADMIN_LISTEN: '[::1]:0' }).adminListen).toMatchObject({ host: '::1', port: 0 });
  expect(problemsOf({ HOLDFAST_REDIS_URL: REDIS, HOLDFAST_ADMIN_LISTEN: 'unix:/tmp/admin' })).toEqual([
    'HOLDFAST_ADMIN_LISTEN must be off, host:port or [IPv6 address]:port',
  ]);
});

test('readConfig freezes the settings and the objects inside them', () => {
  const config = read({});
  expect(Object.isFrozen(config)).toBe(true);
  expect(Object.isFrozen(config.listen)).toBe(true);
  expect(Object.isFrozen(config.redis)).toBe(true);
});

test('readConfig treats an empty variable as not set, and ignores variables without the prefix HOLDFAST_', () => {
  expect(read({ HOLDFAST_LISTEN: '', HOLDFASTER: 'x', PATH: '/bin' }).listen).toMatchObject({ port: 50_051 });
});

test('readConfig reports every problem in one error', () => {
  const problems = problemsOf({
    HOLDFAST_LISTEN: 'nowhere',
    HOLDFAST_MAX_TTL: '25h',
    HOLDFAST_MAX_WAITERS: '0',
    HOLDFAST_LOG_LEVEL: 'loud',
    HOLDFAST_REDIS_ULR: REDIS,
    HOLDFAST_TLS_CERT: '/cert.pem',
  });
  expect(problems).toEqual([
    expect.stringContaining('HOLDFAST_REDIS_ULR is not a setting'),
    expect.stringContaining('HOLDFAST_LISTEN must be host:port'),
    expect.stringContaining('HOLDFAST_REDIS_URL is required'),
    expect.stringContaining('HOLDFAST_MAX_TTL must be a duration from 100ms to 24h'),
    expect.stringContaining('HOLDFAST_MAX_WAITERS must be a whole number from 1 to 1000000'),
    expect.stringContaining('HOLDFAST_LOG_LEVEL must be one of fatal, error'),
    expect.stringContaining('HOLDFAST_TLS_CERT and HOLDFAST_TLS_KEY must be set together'),
  ]);
});

test.each([
  [{ HOLDFAST_MIN_TTL: '1m' }, 'HOLDFAST_DEFAULT_TTL must not be less than HOLDFAST_MIN_TTL'],
  [{ HOLDFAST_MAX_TTL: '10s' }, 'HOLDFAST_DEFAULT_TTL must not be more than HOLDFAST_MAX_TTL'],
  [{ HOLDFAST_MAX_TTL: '24h', HOLDFAST_RETENTION: '1h' }, 'HOLDFAST_RETENTION must not be less'],
])('readConfig refuses settings that contradict each other: %j', (env, problem) => {
  const problems = problemsOf({ HOLDFAST_REDIS_URL: REDIS, ...env });
  expect(problems).toEqual([expect.stringContaining(problem)]);
});

const JWT = {
  HOLDFAST_AUTH_JWT_ISSUER: 'https://login.example',
  HOLDFAST_AUTH_JWT_AUDIENCE: 'holdfast',
  HOLDFAST_AUTH_JWT_JWKS: 'https://login.example/keys',
};

test('readConfig refuses settings of access that contradict each other', () => {
  const of = (env: NodeJS.ProcessEnv) => problemsOf({ HOLDFAST_REDIS_URL: REDIS, ...env });
  expect(of({ HOLDFAST_TLS_CLIENT_CA: '/ca.pem' })).toEqual([
    'HOLDFAST_TLS_CLIENT_CA needs HOLDFAST_TLS_CERT and HOLDFAST_TLS_KEY',
  ]);
  for (const missing of Object.keys(JWT)) {
    expect(of({ ...JWT, [missing]: '' })).toEqual([expect.stringContaining('must be set together')]);
  }
  expect(of({ HOLDFAST_AUTH_JWT_CLAIM: 'client_id' })).toEqual([
    'HOLDFAST_AUTH_JWT_CLAIM needs HOLDFAST_AUTH_JWT_ISSUER',
  ]);
  expect(of({ HOLDFAST_POLICY: '/policy.yaml' })).toEqual([
    expect.stringContaining('HOLDFAST_POLICY needs identities: set HOLDFAST_AUTH_TOKENS'),
  ]);
  expect(of({ ...JWT, HOLDFAST_POLICY: '/policy.yaml' })).toEqual([]);
  expect(of(JWT)).toEqual([]);
});

test.each([
  ['HOLDFAST_AUTH_JWT_ISSUER', 'https://login.example#x'],
  ['HOLDFAST_AUTH_JWT_ISSUER', 'has space'],
  ['HOLDFAST_AUTH_JWT_JWKS', 'ftp://login.example/keys'],
  ['HOLDFAST_AUTH_JWT_JWKS', 'https://user:pw@login.example/keys'],
  ['HOLDFAST_INSECURE', '1'],
  ['HOLDFAST_INSECURE', 'tls,all'],
  ['HOLDFAST_INSECURE', 'tls,,jwks'],
  ['HOLDFAST_CONNECTION_MAX_AGE', '0s'],
])('readConfig refuses %s=%s', (name, value) => {
  const problems = problemsOf({ HOLDFAST_REDIS_URL: REDIS, ...JWT, [name]: value });
  expect(problems[0]).toContain(`${name} must be`);
});

test('a password of Redis may be in a file, for addresses without one', () => {
  const problems = (env: NodeJS.ProcessEnv) => problemsOf({ HOLDFAST_REDIS_PASSWORD_FILE: '/p', ...env });
  for (const url of [
    'redis://u@h',
    'redis://h',
    'redis+cluster://u@c1,c2',
    'redis+sentinel://u%40@s1/m',
    '/r.sock',
  ]) {
    expect(problems({ HOLDFAST_REDIS_URL: url })).toEqual([]);
  }
  for (const url of ['redis://u:p@h', 'redis+cluster://:p@c1', 'redis+sentinel://u:p@s1/m']) {
    expect(problems({ HOLDFAST_REDIS_URL: url })).toEqual([
      'HOLDFAST_REDIS_PASSWORD_FILE needs an address in HOLDFAST_REDIS_URL without a password',
    ]);
  }
  expect(problems({ HOLDFAST_REDIS_URL: REDIS, HOLDFAST_DICTIONARY_REDIS_URL: 'redis://u:p@h' })).toEqual([]);
  expect(problemsOf({ HOLDFAST_REDIS_URL: 'redis+cluster://u@c1' })).toEqual([
    'HOLDFAST_REDIS_URL must be an address with a password for its user, unless HOLDFAST_REDIS_PASSWORD_FILE is set',
  ]);
});

describe('readConfig refuses the keys of tokens from another machine without TLS', () => {
  const problems = (url: string, insecure = '') =>
    problemsOf({
      ...{ HOLDFAST_REDIS_URL: REDIS, ...JWT, HOLDFAST_AUTH_JWT_JWKS: url },
      ...{ HOLDFAST_INSECURE: insecure },
    });
  const refusal = expect.stringContaining('set HOLDFAST_INSECURE=jwks if you trust the network') as string;

  test.each(['http://login.example/keys', 'HTTP://10.0.0.1/keys', 'http://[fd00::1]/keys'])('%s', (url) => {
    expect(problems(url)).toEqual([refusal]);
    expect(problems(url, 'tls,auth')).toEqual([refusal]);
    expect(problems(url, 'jwks')).toEqual([]);
    expect(problems(url, 'tls,jwks,auth')).toEqual([]);
  });

  test.each(['http://127.0.0.1:9/keys', 'http://[::1]/keys', 'http://localhost/keys', 'https://a.example/'])(
    'but accepts %s',
    (url) => expect(problems(url)).toEqual([]),
  );
});

describe('the settings give a warning', () => {
  const warnings = (env: NodeJS.ProcessEnv) =>
    settingsWarnings(readConfig({ HOLDFAST_REDIS_URL: REDIS, ...env }));

  test.each([
    ['HOLDFAST_REDIS_URL', 'redis://u:hunter2@redis:6379', 'use rediss://redis:6379'],
    ['HOLDFAST_REDIS_URL', 'redis+cluster://127.0.0.1:1,c2:2', 'use rediss+cluster://127.0.0.1:1,c2:2'],
    ['HOLDFAST_REDIS_URL', 'redis+sentinel://s1,s2/main', 'use rediss+sentinel://s1,s2/main'],
    ['HOLDFAST_REDIS_REPLICA_URL', 'redis://10.0.0.1', 'use rediss://10.0.0.1'],
    ['HOLDFAST_DICTIONARY_REDIS_URL', 'redis://[fd00::1]:1/2', 'use rediss://[fd00::1]:1/2'],
  ])('of %s=%s, which leaves this machine without TLS', (name, address, advice) => {
    const found = warnings({ [name]: address });
    expect(found).toEqual([expect.stringMatching(new RegExp(`^${name} has no TLS: `))]);
    expect(found[0]?.endsWith(advice)).toBe(true);
    expect(warnings({ [name]: address.replace('redis', 'rediss') })).toEqual([]);
  });

  test.each(['redis://127.0.0.1', 'redis://localhost:1', 'redis://[::1]:1', '/run/redis.sock'])(
    'but not of a Redis at %s',
    (address) => expect(warnings({ HOLDFAST_REDIS_URL: address })).toEqual([]),
  );

  test('of each file that every user of the machine may write or replace', () => {
    const folder = scratchFolder();
    chmodSync(folder, 0o755);
    const files = ['cert', 'key', 'ca', 'tokens', 'policy', 'rca', 'rcert', 'rkey', 'rpass', 'jwks'].map(
      (name) => join(folder, name),
    );
    for (const file of files) writeFileSync(file, '', { mode: 0o644 });
    const [cert, key, ca, tokens, policy, redisCa, redisCert, redisKey, password, keys] = files;
    const env = {
      ...{ HOLDFAST_REDIS_URL: 'rediss://127.0.0.1', HOLDFAST_TLS_CERT: cert, HOLDFAST_TLS_KEY: key },
      ...{ HOLDFAST_TLS_CLIENT_CA: ca, HOLDFAST_AUTH_TOKENS: tokens, HOLDFAST_POLICY: policy },
      ...{ HOLDFAST_REDIS_TLS_CA: redisCa, HOLDFAST_REDIS_TLS_CERT: redisCert },
      ...{
        HOLDFAST_REDIS_TLS_KEY: redisKey,
        HOLDFAST_REDIS_PASSWORD_FILE: password,
        ...JWT,
        HOLDFAST_AUTH_JWT_JWKS: keys,
      },
    };
    expect(warnings(env)).toEqual([]);
    for (const file of files) chmodSync(file, 0o646);
    expect(warnings(env).map((text) => text.split(':')[0])).toEqual([
      ...['HOLDFAST_TLS_CERT', 'HOLDFAST_TLS_KEY', 'HOLDFAST_TLS_CLIENT_CA', 'HOLDFAST_AUTH_TOKENS'],
      ...['HOLDFAST_POLICY', 'HOLDFAST_REDIS_TLS_CA', 'HOLDFAST_REDIS_TLS_CERT', 'HOLDFAST_REDIS_TLS_KEY'],
      ...['HOLDFAST_REDIS_PASSWORD_FILE', 'HOLDFAST_AUTH_JWT_JWKS'],
    ]);
    expect(warnings(env)[0]).toContain(`may write ${cert}`);
    for (const file of files) chmodSync(file, 0o600);
    chmodSync(folder, 0o777);
    expect(warnings(env)).toHaveLength(files.length);
    expect(warnings(env)[1]).toContain(`may replace ${key}`);
    // As /tmp is.
    chmodSync(folder, 0o1777);
    expect(warnings(env)).toEqual([]);
    rmSync(folder, { recursive: true });
    expect(warnings(env)).toEqual([]);
  });
});

describe('readConfig refuses an address that other machines can reach', () => {
  const TLS = { HOLDFAST_TLS_CERT: '/c.pem', HOLDFAST_TLS_KEY: '/c.key' };
  const TOKENS = { HOLDFAST_AUTH_TOKENS: '/tokens' };
  const noTls = expect.stringContaining('but the server has no TLS: set HOLDFAST_TLS_CERT') as string;
  const noAuth = expect.stringContaining('but every caller is let in: set HOLDFAST_AUTH_TOKENS') as string;

  test.each([
    ['without TLS and authentication', {}, [noTls, noAuth]],
    ['without authentication', TLS, [noAuth]],
    ['without TLS', TOKENS, [noTls]],
    ['without TLS, with JSON web tokens', JWT, [noTls]],
    ['with TLS and tokens', { ...TLS, ...TOKENS }, []],
    ['with TLS and client certificates', { ...TLS, HOLDFAST_TLS_CLIENT_CA: '/ca.pem' }, []],
    ['unless HOLDFAST_INSECURE permits both', { HOLDFAST_INSECURE: 'tls,auth' }, []],
    ['if HOLDFAST_INSECURE permits only the other part', { ...TLS, HOLDFAST_INSECURE: 'tls' }, [noAuth]],
    ['if HOLDFAST_INSECURE permits only callers', { HOLDFAST_INSECURE: 'auth' }, [noTls]],
    ['with tokens behind a load balancer', { ...TOKENS, HOLDFAST_INSECURE: 'tls' }, []],
  ])('%s', (_title, env, problems) => {
    for (const HOLDFAST_LISTEN of [
      '0.0.0.0:1',
      '[::]:1',
      '10.1.2.3:1',
      'holdfast.example:1',
      '[::ffff:10.1.2.3]:1',
    ]) {
      expect(problemsOf({ HOLDFAST_REDIS_URL: REDIS, HOLDFAST_LISTEN, ...env })).toEqual(problems);
    }
  });

  test.each([
    '127.0.0.1:1',
    '127.8.9.10:1',
    'localhost:1',
    '[::1]:1',
    '[::ffff:127.0.0.1]:1',
    'unix:/run/h.sock',
  ])('but accepts %s', (HOLDFAST_LISTEN) => {
    expect(problemsOf({ HOLDFAST_REDIS_URL: REDIS, HOLDFAST_LISTEN })).toEqual([]);
  });
});

test.each([
  ['0.0.0.0:0', { kind: 'tcp', host: '0.0.0.0', port: 0 }],
  ['localhost:65535', { kind: 'tcp', host: 'localhost', port: 65_535 }],
  ['[::1]:50051', { kind: 'tcp', host: '::1', port: 50_051 }],
  ['unix:/run/holdfast.sock', { kind: 'unix', path: '/run/holdfast.sock' }],
  ['unix:///run/holdfast.sock', { kind: 'unix', path: '/run/holdfast.sock' }],
])('readConfig accepts the listen address %s', (text, address) => {
  expect(read({ HOLDFAST_LISTEN: text, HOLDFAST_INSECURE: 'tls,auth' }).listen).toEqual(address);
});

test.each([
  '50051',
  ':50051',
  'host',
  'host:',
  'host:65536',
  'host:-1',
  '::1:5',
  '[::1]',
  'unix:',
  'unix:rel',
])('readConfig refuses the listen address %s', (text) => {
  expect(problemsOf({ HOLDFAST_REDIS_URL: REDIS, HOLDFAST_LISTEN: text })).toHaveLength(1);
});

test.each([
  ['redis://127.0.0.1', 'redis://127.0.0.1'],
  ['redis://user:s3cret@cache.example:6380/2', 'redis://cache.example:6380/2'],
  ['rediss://:s3cret@[::1]:6379', 'rediss://[::1]:6379'],
  ['/run/redis.sock', '/run/redis.sock'],
  ['redis+unix:///run/redis.sock', '/run/redis.sock'],
])('readConfig accepts the Redis address %s, and hides its password', (text, shown) => {
  const { redis } = read({ HOLDFAST_REDIS_URL: text });
  expect(redis.shown).toBe(shown);
  const url = text.startsWith('redis+unix') ? shown : text;
  expect(redis.address).toEqual({ kind: 'single', url, tls: text.startsWith('rediss') });
  expect(inspect(redis, { depth: 5 }) + JSON.stringify(redis)).not.toContain('s3cret');
});

const HOST_PAIR = [
  { host: 'a', port: 7000 },
  { host: '::1', port: 7001 },
];
const USER = { username: 'app', password: 's3:cret@' };
const NO_USER = { username: undefined, password: undefined };

test.each([
  [
    'redis+sentinel://app:s3%3Acret%40@a:7000,[::1]:7001/main/2',
    { kind: 'sentinel', sentinels: HOST_PAIR, master: 'main', db: 2, tls: false, ...USER },
    'redis+sentinel://a:7000,[::1]:7001/main/2',
  ],
  [
    'rediss+sentinel://one.example/main',
    {
      kind: 'sentinel',
      sentinels: [{ host: 'one.example', port: 26_379 }],
      master: 'main',
      db: 0,
      tls: true,
      ...NO_USER,
    },
    'rediss+sentinel://one.example/main',
  ],
  [
    'rediss+cluster://app:s3%3Acret%40@a:7000,[::1]:7001',
    { kind: 'cluster', seeds: HOST_PAIR, tls: true, ...USER },
    'rediss+cluster://a:7000,[::1]:7001',
  ],
  [
    'redis+cluster://nodes.example/',
    { kind: 'cluster', seeds: [{ host: 'nodes.example', port: 6379 }], tls: false, ...NO_USER },
    'redis+cluster://nodes.example',
  ],
])(
  'readConfig accepts the Sentinel or Cluster address %s, and hides its password',
  (text, address, shown) => {
    const { redis } = read({ HOLDFAST_REDIS_URL: text });
    expect(redis.address).toEqual(address);
    expect(redis.shown).toBe(shown);
    expect(inspect(redis, { depth: 5 }) + JSON.stringify(redis)).not.toMatch(/s3(%3A|:)cret/);
  },
);

test('readConfig hides the password of HOLDFAST_REDIS_SENTINEL_AUTH', () => {
  const config = read({
    HOLDFAST_REDIS_URL: 'redis+sentinel://a/main',
    HOLDFAST_REDIS_SENTINEL_AUTH: ':s3cret',
  });
  expect(config.redisSentinelAuth?.user).toEqual({ username: undefined, password: 's3cret' });
  expect(inspect(config, { depth: 9 }) + JSON.stringify(config)).not.toContain('s3cret');
});

test.each([
  [
    { HOLDFAST_REDIS_SENTINEL_AUTH: ':s3cret' },
    'HOLDFAST_REDIS_SENTINEL_AUTH needs an address with sentinels',
  ],
  [{ HOLDFAST_REDIS_TLS_CA: '/ca.pem' }, 'need an address with TLS'],
  [
    { HOLDFAST_REDIS_URL: 'rediss://a', HOLDFAST_REDIS_TLS_CERT: '/cert.pem' },
    'HOLDFAST_REDIS_TLS_CERT and HOLDFAST_REDIS_TLS_KEY must be set together',
  ],
  [{ HOLDFAST_REDIS_REPLICA_URL: 'redis+cluster://a' }, 'HOLDFAST_REDIS_REPLICA_URL must be'],
])('readConfig refuses settings that do not fit the Redis address: %j', (env, problem) => {
  const problems = problemsOf({ HOLDFAST_REDIS_URL: REDIS, ...env });
  expect(problems).toEqual([expect.stringContaining(problem)]);
});

test.each([
  ['auto', undefined],
  ['16MiB', 2 ** 24],
  ['3GiB', 3 * 2 ** 30],
  ['20480KiB', 20 * 2 ** 20],
])('readConfig reads the memory %s', (text, bytes) => {
  expect(read({ HOLDFAST_DICTIONARY_MEMORY: text }).dictionaryMemoryBytes).toBe(bytes);
});

test.each(['15MiB', '65GiB', '2GB', '-1MiB', '1.5GiB', 'none'])(
  'readConfig refuses the memory %s',
  (text) => {
    expect(problemsOf({ HOLDFAST_REDIS_URL: REDIS, HOLDFAST_DICTIONARY_MEMORY: text })).toEqual([
      expect.stringContaining('HOLDFAST_DICTIONARY_MEMORY must be auto, or a whole number of KiB'),
    ]);
  },
);

test.each([
  ['', []],
  ['cities', ['cities']],
  ['cities,a%2Cb,100%25,東京', ['cities', 'a,b', '100%', '東京']],
])('readConfig reads the names of dictionaries to preload: %j', (text, names) => {
  expect(read({ HOLDFAST_PRELOAD: text }).preload).toEqual(names);
});

test.each(['a,,b', ',', '%', 'a%2'])('readConfig refuses the names %j', (text) => {
  expect(problemsOf({ HOLDFAST_REDIS_URL: REDIS, HOLDFAST_PRELOAD: text })).toEqual([
    expect.stringContaining('HOLDFAST_PRELOAD must be names separated by commas'),
  ]);
});

test('readConfig accepts TLS files and a Sentinel user that only the Redis of the dictionaries needs', () => {
  const config = read({
    HOLDFAST_DICTIONARY_REDIS_URL: 'rediss+sentinel://a/main',
    HOLDFAST_REDIS_SENTINEL_AUTH: ':s3cret',
    HOLDFAST_REDIS_TLS_CA: '/ca.pem',
  });
  expect(config.dictionaryRedis?.shown).toBe('rediss+sentinel://a/main');
});

test.each([
  'http://127.0.0.1',
  'redis+sentinel://a:1',
  'redis+sentinel://a:1/',
  'redis+sentinel://a:1/main/x',
  'redis+sentinel://a:0/main',
  'redis+sentinel://a:1,,b:2/main',
  'redis+sentinel://s3cret@a:1/main',
  'redis+sentinel://app:s3cret%@a:1/main',
  'redis+cluster://a:1/0',
  'redis+cluster://a:1?password=s3cret',
  'redis+cluster://a:65536',
  'redis+cluster://',
  'redis+proxy://a:1',
  '127.0.0.1:6379',
  'redis://',
  'redis://h/nine',
  // The Redis client would read this option, and would send commands again after a reconnect.
  'redis://h?autoResendUnfulfilledCommands=true&password=s3cret',
])('readConfig refuses the Redis address %s, and does not repeat it in the message', (text) => {
  const problems = problemsOf({ HOLDFAST_REDIS_URL: text });
  expect(problems).toHaveLength(1);
  expect(problems.join()).toContain('HOLDFAST_REDIS_URL must be');
  expect(problems.join()).not.toContain('s3cret');
});

test.each([
  ['500ms', 500],
  ['90s', 90_000],
  ['2m', 120_000],
  ['1h', 3_600_000],
])('readConfig reads the duration %s', (text, ms) => {
  expect(read({ HOLDFAST_MAX_TTL: '24h', HOLDFAST_DEFAULT_TTL: text }).defaultTtlMs).toBe(ms);
});

test.each(['30', '-1s', '1.5s', '1 s', '1e3ms', 's', '99999999999s', '0s'])(
  'readConfig refuses the duration %s',
  (text) => {
    expect(problemsOf({ HOLDFAST_REDIS_URL: REDIS, HOLDFAST_COMMAND_TIMEOUT: text })).toHaveLength(1);
  },
);

test.each([
  ['off', undefined],
  ['1h', 3_600_000],
  ['3650d', 3650 * 86_400_000],
])('readConfig accepts the retention of recents %s', (text, ms) => {
  expect(read({ HOLDFAST_RECENTS_RETENTION: text }).recentsRetentionMs).toBe(ms);
});

test.each(['59m', '3651d', '0', 'OFF', 'never'])('readConfig refuses the retention of recents %s', (text) => {
  expect(problemsOf({ HOLDFAST_REDIS_URL: REDIS, HOLDFAST_RECENTS_RETENTION: text })).toEqual([
    expect.stringContaining('HOLDFAST_RECENTS_RETENTION must be off, or a duration from 1h to 3650d'),
  ]);
});

describe('docs/configuration.md', () => {
  const page = configurationPage();

  test.each(Object.values(options))(
    'has a section for $name with its range, default and example',
    (setting) => {
      const [, section = ''] = page.split(`\n## ${setting.name}\n`);
      const rows = section.split('\n## ')[0] ?? '';
      const { default: preset, range, required } = setting as Option<unknown>;
      const shown =
        preset === undefined ? `none${required ? '; the variable is required' : ''}` : `\`${preset}\``;
      expect(rows).toContain(`\n- Default: ${shown}\n`);
      expect(rows).toContain(`\n- Value: `);
      if (range !== undefined) expect(rows).toContain(`\n- Range: ${range}\n`);
      expect(rows).toContain(`\n- Example: \`${setting.name}=${setting.example}\`\n`);
    },
  );

  test('shows only examples that the parser accepts', () => {
    const rejected = Object.values(options).filter(
      ({ schema, example }) => !schema.safeParse(example).success,
    );
    expect(rejected.map(({ name }) => name)).toEqual([]);
  });

  test('has no line over 100 columns', () => {
    expect(page.split('\n').filter((line) => line.length > 100)).toEqual([]);
  });
});

test('readConfig ignores the variables that Kubernetes sets for a Service named holdfast, and refuses an unknown variable', () => {
  const link = {
    HOLDFAST_SERVICE_HOST: '10.0.0.1',
    HOLDFAST_SERVICE_PORT_GRPC: '50051',
    HOLDFAST_PORT: 'tcp://10.0.0.1:50051',
    HOLDFAST_PORT_50051_TCP_ADDR: '10.0.0.1',
    HOLDFAST_INTERNAL_SERVICE_HOST: '10.0.0.2',
  };
  expect(() => read(link)).not.toThrow();
  expect(problemsOf({ HOLDFAST_REDIS_URL: REDIS, HOLDFAST_PROT: '1' })).toHaveLength(1);
});
