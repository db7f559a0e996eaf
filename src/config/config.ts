import { options, type Option } from './options';

type Value<O> = O extends Option<infer T> ? T : never;

/** The settings of the server: validated, complete and frozen. */
export type Config = { readonly [Key in keyof typeof options]: Value<(typeof options)[Key]> };

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
  const values: Partial<Record<keyof Config, unknown>> = {};
  for (const key of Object.keys(options) as (keyof Config)[]) {
    values[key] = readOption(options[key], env, problems);
  }
  const config = values as Config;
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
  const known = new Set<string>(Object.values(options).map(({ name }) => name));
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
  found.push(...contradictionsOfRedis(config));
  return found;
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
