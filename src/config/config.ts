import { options, type Option } from './options';

type Value<O> = O extends Option<infer T> ? T : never;

/** The server's settings: checked, complete and frozen. */
export type Config = { readonly [Key in keyof typeof options]: Value<(typeof options)[Key]> };

/** The environment holds something that is no configuration; the message names every problem, a line each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly problems: readonly string[]) {
    super(`the configuration is wrong:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

const PREFIX = 'HOLDFAST_';

/** Reads the settings from `env`, the process's own unless another is given; an empty variable is as none. */
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

/** What Kubernetes puts into every container beside a Service whose name begins with `holdfast`. */
const KUBERNETES_LINK = /^HOLDFAST_(.+_)?(SERVICE_(HOST|PORT)(_.+)?|PORT(_\d+_(TCP|UDP|SCTP)(_.+)?)?)$/;

/** A misspelt variable would otherwise be a setting that silently has its default. */
function unknownVariables(env: NodeJS.ProcessEnv): string[] {
  const known = new Set<string>(Object.values(options).map(({ name }) => name));
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !known.has(name) && !KUBERNETES_LINK.test(name))
    .map((name) => `${name} is not a setting of Holdfast; the README lists them all`);
}

/** What is right by itself and wrong together. Settings that are wrong by themselves compare as false here. */
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
  const { redis, redisReplica, redisSentinelAuth, redisTlsCa, redisTlsCert, redisTlsKey } = config;
  if ((redisTlsCert === undefined) !== (redisTlsKey === undefined)) {
    found.push('HOLDFAST_REDIS_TLS_CERT and HOLDFAST_REDIS_TLS_KEY must be set together');
  }
  // An address that is wrong by itself has been named already.
  if (redis === undefined) return found;
  const tls = redis.address.tls || redisReplica?.address.tls === true;
  if (!tls && (redisTlsCa !== undefined || redisTlsCert !== undefined)) {
    found.push('HOLDFAST_REDIS_TLS_CA and HOLDFAST_REDIS_TLS_CERT need an address with TLS: rediss…://');
  }
  if (redisSentinelAuth !== undefined && redis.address.kind !== 'sentinel') {
    found.push('HOLDFAST_REDIS_SENTINEL_AUTH needs an address with sentinels: redis+sentinel://');
  }
  return found;
}
