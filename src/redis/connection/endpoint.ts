import type { RedisOptions as AnyRedisOptions } from 'ioredis';
import type { ClusterAddress, RedisHost, RedisUser } from '../../redis-address';

/** `replyMapping` is left out: all connections use protocol 2, and replies have the shapes of protocol 2. */
export type RedisOptions = Omit<AnyRedisOptions, 'replyMapping'>;

/** The target of one connection for ioredis: a URL, or options. */
export type RedisEndpoint = string | RedisOptions;

/**
 * PEM texts for TLS. Without `ca`, the server trusts the public authorities. Without `cert`, the server presents no
 * client certificate.
 */
export interface TlsFiles {
  readonly ca: Buffer | undefined;
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
}

export interface Security {
  readonly tls: TlsFiles | undefined;
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

/** ioredis parses the URL. With TLS files the URL becomes options here, because a URL cannot name such files. */
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

export function nodeEndpoint(
  address: ClusterAddress,
  { host, port }: RedisHost,
  security: Security,
): RedisOptions {
  return { host, port, ...userOptions(address), ...tlsOptions(address.tls, security) };
}
