import type { RedisOptions as AnyRedisOptions } from 'ioredis';
import type { ClusterAddress, RedisHost, RedisUser } from '../redis-address';

/** Replies have the shapes of protocol 2, which all connections use. */
export type RedisOptions = Omit<AnyRedisOptions, 'replyMapping'>;

/** The target of one connection for ioredis: a URL, or options. */
export type RedisEndpoint = string | RedisOptions;

/** PEM texts for TLS. Without `ca` the known authorities count; without `cert` the server shows no certificate. */
export interface TlsFiles {
  readonly ca: Buffer | undefined;
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
}

export interface Security {
  readonly tls: TlsFiles | undefined;
  /** The user of the sentinels themselves. */
  readonly sentinelUser: RedisUser | undefined;
}

export function tlsOptions(tls: boolean, { tls: files }: Security): Pick<RedisOptions, 'tls'> {
  if (!tls) return {};
  const { ca, cert, key } = files ?? {};
  return { tls: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) } };
}

export function userOptions({ username, password }: RedisUser): Pick<RedisOptions, 'username' | 'password'> {
  return { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
}

/** A single Redis. ioredis reads the URL; a URL with TLS files becomes options. */
export function singleEndpoint(url: string, security: Security): RedisEndpoint {
  if (!url.startsWith('rediss:') || security.tls === undefined) return url;
  const { hostname, port, username, password, pathname } = new URL(url);
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port || 6379),
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    db: Number(pathname.slice(1)),
    ...tlsOptions(true, security),
  };
}

/** One node of a Cluster. */
export function nodeEndpoint(
  address: ClusterAddress,
  { host, port }: RedisHost,
  security: Security,
): RedisOptions {
  return { host, port, ...userOptions(address), ...tlsOptions(address.tls, security) };
}
