import type { StoreAddress } from '../../base/redis-address';
import { CLIENT_VARIABLES, COMMAND_VARIABLES } from './client-variables';
import type { Option } from './option';
import { options } from './options';
import { isLoopback, isOpenKeySource } from './values';

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
