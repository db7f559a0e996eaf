import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { StoreAddress } from '../../base/redis-address';
import { options } from './options';
import { hostOfUrl, isLoopback, isOpenKeySource, type Option } from './values';
import { CLIENT_VARIABLES, COMMAND_VARIABLES } from './variables';

type Value<O> = O extends Option<infer T> ? T : never;

type Values = { readonly [Key in keyof typeof options]: Value<(typeof options)[Key]> };

/** The settings of the server: validated, complete and frozen. */
export interface Config extends Values {
  /** False: `adminListen` is the default, so the server also starts without an admin port. */
  readonly adminListenIsSet: boolean;
}

/** The settings are invalid. The message names every problem, one per line. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly problems: readonly string[]) {
    super(`the configuration is invalid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

const PREFIX = 'HOLDFAST_';

/** Reads the settings from `env`, by default the environment of this process. An empty variable counts as not set. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const problems = unknownVariables(env);
  const values: Partial<Record<keyof Values, unknown>> = {};
  for (const key of Object.keys(options) as (keyof Values)[]) {
    values[key] = readOption(options[key], env, problems);
  }
  const config = { ...(values as Values), adminListenIsSet: Boolean(env[options.adminListen.name]) };
  problems.push(...contradictions(config));
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(config);
}

function readOption(option: Option<unknown>, env: NodeJS.ProcessEnv, problems: string[]): unknown {
  const text = env[option.name] || option.default;
  if (text === undefined) {
    if (option.required) problems.push(`${option.name} is required: ${option.about}`);
    return undefined;
  }
  const result = option.schema.safeParse(text);
  if (result.success) return result.data;
  problems.push(...result.error.issues.map(({ message }) => `${option.name} ${message}`));
  return undefined;
}

/** Variables that Kubernetes sets in every container when a Service has a name that begins with `holdfast`. */
const KUBERNETES_LINK = /^HOLDFAST_(.+_)?(SERVICE_(HOST|PORT)(_.+)?|PORT(_\d+_(TCP|UDP|SCTP)(_.+)?)?)$/;

/** Reports misspelt variables. Without this check a misspelt setting would silently keep its default. */
function unknownVariables(env: NodeJS.ProcessEnv): string[] {
  const known = new Set<string>([
    ...Object.values(options).map(({ name }) => name),
    ...Object.values(CLIENT_VARIABLES),
    ...Object.values(COMMAND_VARIABLES),
  ]);
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !known.has(name) && !KUBERNETES_LINK.test(name))
    .map((name) => `${name} is not a setting of Holdfast; docs/configuration.md lists all settings`);
}

/** Reports valid settings that contradict each other. Comparisons with an invalid setting (undefined) are false. */
function contradictions(config: Config): string[] {
  const found: string[] = [];
  const { minTtlMs, defaultTtlMs, maxTtlMs, retentionMs, tlsCert, tlsKey } = config;
  if (minTtlMs > defaultTtlMs) found.push('HOLDFAST_DEFAULT_TTL must not be less than HOLDFAST_MIN_TTL');
  if (defaultTtlMs > maxTtlMs) found.push('HOLDFAST_DEFAULT_TTL must not be more than HOLDFAST_MAX_TTL');
  if (minTtlMs > maxTtlMs) found.push('HOLDFAST_MIN_TTL must not be more than HOLDFAST_MAX_TTL');
  if (retentionMs < maxTtlMs) found.push('HOLDFAST_RETENTION must not be less than HOLDFAST_MAX_TTL');
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    found.push('HOLDFAST_TLS_CERT and HOLDFAST_TLS_KEY must be set together');
  }
  found.push(...contradictionsOfAccess(config), ...exposures(config), ...contradictionsOfRedis(config));
  return found;
}

function contradictionsOfAccess(config: Config): string[] {
  const found: string[] = [];
  const { tlsCert, tlsClientCa, authJwtIssuer, authJwtAudience, authJwtJwks, authJwtClaim } = config;
  if (tlsClientCa !== undefined && tlsCert === undefined) {
    found.push('HOLDFAST_TLS_CLIENT_CA needs HOLDFAST_TLS_CERT and HOLDFAST_TLS_KEY');
  }
  const jwt = [authJwtIssuer, authJwtAudience, authJwtJwks];
  if (jwt.includes(undefined) && jwt.some((value) => value !== undefined)) {
    found.push(
      'HOLDFAST_AUTH_JWT_ISSUER, HOLDFAST_AUTH_JWT_AUDIENCE and HOLDFAST_AUTH_JWT_JWKS must be set together',
    );
  }
  if (authJwtIssuer === undefined && authJwtClaim !== options.authJwtClaim.default) {
    found.push('HOLDFAST_AUTH_JWT_CLAIM needs HOLDFAST_AUTH_JWT_ISSUER');
  }
  for (const name of ['quotaEntries', 'quotaBytes'] as const) {
    if (config[name] !== undefined && !authenticates(config)) {
      found.push(`${options[name].name} needs identities, because only an identity owns dictionaries`);
    }
  }
  if (config.policy !== undefined && !authenticates(config)) {
    found.push(
      'HOLDFAST_POLICY needs identities: set HOLDFAST_AUTH_TOKENS, HOLDFAST_AUTH_JWT_ISSUER or HOLDFAST_TLS_CLIENT_CA',
    );
  }
  if (authJwtJwks !== undefined && config.insecure?.jwks === false && isOpenKeySource(authJwtJwks)) {
    found.push(
      'HOLDFAST_AUTH_JWT_JWKS gets the keys from another machine without TLS, so who changes the answers on their way can make credentials: use https://…, or set HOLDFAST_INSECURE=jwks if you trust the network',
    );
  }
  return found;
}

/** True if the server proves the identity of its callers. */
export function authenticates(config: Config): boolean {
  const { token, certificate } = credentialsOf(config);
  return token || certificate;
}

/** The credentials by which callers may prove an identity. */
export function credentialsOf({ tlsClientCa, authTokens, authJwtIssuer }: Config) {
  return {
    token: authTokens !== undefined || authJwtIssuer !== undefined,
    certificate: tlsClientCa !== undefined,
  };
}

/** True if programs of other machines can reach the address. */
export function isExposed({ listen }: Config): boolean {
  if (listen === undefined || listen.kind === 'unix') return false;
  return !isLoopback(listen.host);
}

/** Reports an address that other machines can reach, without the protection that such an address needs. */
function exposures(config: Config): string[] {
  const { tlsCert, insecure } = config;
  if (insecure === undefined || !isExposed(config)) return [];
  const found: string[] = [];
  const exposed = 'HOLDFAST_LISTEN is an address that other machines can reach';
  if (tlsCert === undefined && !insecure.tls) {
    found.push(
      `${exposed}, but the server has no TLS: set HOLDFAST_TLS_CERT and HOLDFAST_TLS_KEY, or HOLDFAST_INSECURE=tls if a load balancer ends TLS`,
    );
  }
  if (!authenticates(config) && !insecure.auth) {
    found.push(
      `${exposed}, but every caller is let in: set HOLDFAST_AUTH_TOKENS, HOLDFAST_AUTH_JWT_ISSUER or HOLDFAST_TLS_CLIENT_CA, or HOLDFAST_INSECURE=auth if every program that reaches the port may do everything`,
    );
  }
  return found;
}

function hasPassword(address: StoreAddress): boolean {
  if (address.kind !== 'single') return address.password !== undefined;
  return URL.canParse(address.url) && new URL(address.url).password !== '';
}

function contradictionsOfRedis(config: Config): string[] {
  const found: string[] = [];
  const { redis, redisReplica, dictionaryRedis } = config;
  const { redisSentinelAuth, redisTlsCa, redisTlsCert, redisTlsKey } = config;
  if ((redisTlsCert === undefined) !== (redisTlsKey === undefined)) {
    found.push('HOLDFAST_REDIS_TLS_CERT and HOLDFAST_REDIS_TLS_KEY must be set together');
  }
  // An invalid address is already reported.
  if (redis === undefined) return found;
  const addresses = [redis, redisReplica, dictionaryRedis].flatMap((one) => one?.address ?? []);
  if (config.redisPasswordFile !== undefined && hasPassword(redis.address)) {
    found.push('HOLDFAST_REDIS_PASSWORD_FILE needs an address in HOLDFAST_REDIS_URL without a password');
  }
  for (const key of ['redis', 'redisReplica', 'dictionaryRedis'] as const) {
    const address = config[key]?.address;
    if (config.redisPasswordFile !== undefined || address === undefined || address.kind === 'single')
      continue;
    if (address.username !== undefined && address.password === undefined) {
      found.push(
        `${options[key].name} must be an address with a password for its user, unless HOLDFAST_REDIS_PASSWORD_FILE is set`,
      );
    }
  }
  const tls = addresses.some((address) => address.tls);
  if (!tls && (redisTlsCa !== undefined || redisTlsCert !== undefined)) {
    found.push(
      'HOLDFAST_REDIS_TLS_CA and HOLDFAST_REDIS_TLS_CERT need an address with TLS, such as rediss://host',
    );
  }
  if (redisSentinelAuth !== undefined && !addresses.some(({ kind }) => kind === 'sentinel')) {
    found.push('HOLDFAST_REDIS_SENTINEL_AUTH needs an address with sentinels: redis+sentinel://…');
  }
  return found;
}

export interface ShownSetting {
  readonly name: string;
  readonly value: string;
  readonly isDefault: boolean;
}

/** Settings with a password in their text. */
const WITH_PASSWORD = new Set<string>(
  [options.redis, options.redisReplica, options.dictionaryRedis, options.redisSentinelAuth].map(
    ({ name }) => name,
  ),
);

/**
 * The settings that a server with this environment has, without user names and passwords. Settings that have no value
 * are left out. `env` must be valid: `readConfig` does not throw.
 */
export function shownSettings(env: NodeJS.ProcessEnv): readonly ShownSetting[] {
  return Object.values<Option<unknown>>(options).flatMap((option) => {
    const given = env[option.name] || undefined;
    const text = given ?? option.default;
    if (text === undefined || text === '') return [];
    const value = WITH_PASSWORD.has(option.name) ? withoutPassword(option, text) : text;
    return [{ name: option.name, value, isDefault: given === undefined }];
  });
}

/** An address of Redis has a form for logs. */
function withoutPassword(option: Option<unknown>, text: string): string {
  const { data } = option.schema.safeParse(text);
  const shown = (data as { shown?: unknown } | undefined)?.shown;
  return typeof shown === 'string' ? shown : '(hidden)';
}

/** What a valid configuration leaves open. The server logs each sentence at its start, and `check-config` prints it. */
export function settingsWarnings(config: Config): readonly string[] {
  return [...callerWarnings(config), ...redisWarnings(config), ...fileWarnings(config)];
}

function callerWarnings(config: Config): string[] {
  const found: string[] = [];
  if (config.authJwtJwks !== undefined && isOpenKeySource(config.authJwtJwks)) {
    found.push(
      'INSECURE: HOLDFAST_AUTH_JWT_JWKS has no TLS: who changes the answers on their way can make credentials (HOLDFAST_INSECURE=jwks)',
    );
  }
  if (authenticates(config) && config.policy === undefined) {
    found.push('there is no policy: every proven identity may do everything (HOLDFAST_POLICY)');
  }
  if (!isExposed(config)) return found;
  if (config.tlsCert === undefined) {
    found.push('INSECURE: other machines can reach this server, and it has no TLS (HOLDFAST_INSECURE=tls)');
  }
  if (!authenticates(config)) {
    found.push(
      'INSECURE: other machines can reach this server, and every caller may do everything (HOLDFAST_INSECURE=auth)',
    );
  }
  return found;
}

function redisWarnings(config: Config): string[] {
  return (['redis', 'redisReplica', 'dictionaryRedis'] as const)
    .filter((key) => {
      const address = config[key]?.address;
      return address !== undefined && !address.tls && !hostsOf(address).every(isLoopback);
    })
    .map(
      (key) =>
        `${options[key].name} has no TLS: the password of Redis and every lease go over the network as readable text; use ${config[key]?.shown.replace(/^redis(?=[:+])/, 'rediss') ?? ''}`,
    );
}

function hostsOf(address: Config['redis']['address']): readonly string[] {
  switch (address.kind) {
    case 'single':
      // A Unix socket has no host.
      return URL.canParse(address.url) ? [hostOfUrl(new URL(address.url))] : [];
    case 'sentinel':
      return address.sentinels.map(({ host }) => host);
    case 'cluster':
      return address.seeds.map(({ host }) => host);
  }
}

/** The settings that name a file with a credential, or with rules about credentials. */
const FILES = [
  ...['tlsCert', 'tlsKey', 'tlsClientCa', 'authTokens', 'policy'],
  ...['redisTlsCa', 'redisTlsCert', 'redisTlsKey', 'redisPasswordFile'],
] as const satisfies readonly (keyof Config)[];

function fileWarnings(config: Config): string[] {
  const { authJwtJwks } = config;
  const files = FILES.map((key) => [options[key].name, config[key]] as const);
  const keys = authJwtJwks !== undefined && 'path' in authJwtJwks ? authJwtJwks.path : undefined;
  return [...files, [options.authJwtJwks.name, keys] as const].flatMap(([name, path]) => {
    if (path === undefined) return [];
    if (mayAllWrite(path)) {
      return [`${name}: every user of this machine may write ${path}; take the right away (chmod o-w)`];
    }
    // In such a folder, everybody may put another file in the place of the file.
    const folder = dirname(path);
    const isOpen = mayAllWrite(folder, STICKY);
    return isOpen ? [`${name}: every user of this machine may replace ${path}; run chmod o-w ${folder}`] : [];
  });
}

const OTHERS_WRITE = 0o002;
/** In a folder with this bit, only the owner of a file may replace it. */
const STICKY = 0o1000;

/** False for a path that cannot be read: another part of the start says so. */
function mayAllWrite(path: string, unless = 0): boolean {
  try {
    const { mode } = statSync(path);
    return (mode & OTHERS_WRITE) !== 0 && (mode & unless) === 0;
  } catch {
    return false;
  }
}
