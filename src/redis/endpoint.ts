import type { RedisOptions as AnyRedisOptions } from 'ioredis';
import type { ClusterAddress, RedisHost, RedisUser } from '../base/redis-address';
import type { RedisPassword } from './redis-password';

/** `replyMapping` is left out: all connections use protocol 2, and replies have the shapes of protocol 2. */
export type RedisOptions = Omit<AnyRedisOptions, 'replyMapping'>;

/** The target of one connection for ioredis: a URL, or options. With `follows`, its password may change. */
export type RedisEndpoint = string | FollowingOptions;
type FollowingOptions = RedisOptions & { readonly follows?: RedisPassword };

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
  /** The password for the addresses of Redis that have none. Undefined: they use no password. */
  readonly password?: RedisPassword | undefined;
}

export function tlsOptions(tls: boolean, { tls: files }: Security): Pick<RedisOptions, 'tls'> {
  if (!tls) return {};
  const { ca, cert, key } = files ?? {};
  return { tls: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) } };
}

/** The user of a sentinel. Its password does not change. */
export function userOptions({ username, password }: RedisUser): Pick<RedisOptions, 'username' | 'password'> {
  return { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
}

/** The user of a Redis. */
export function redisUserOptions(user: RedisUser, security: Security): FollowingOptions {
  const follows = user.password === undefined ? security.password : undefined;
  return { ...userOptions(user), ...(follows && { follows }) };
}

/**
 * ioredis parses the URL. With TLS files or a password of a file the URL becomes options here, because a URL cannot name
 * such files.
 */
export function singleEndpoint(url: string, security: Security): RedisEndpoint {
  const isUrl = /^rediss?:/.test(url);
  const needsOptions = security.password !== undefined || (url.startsWith('rediss:') && security.tls);
  if (!needsOptions) return url;
  if (!isUrl) return { path: url, ...(security.password && { follows: security.password }) };
  const { protocol, hostname, port, username, password, pathname } = new URL(url);
  const follows = password === '' ? security.password : undefined;
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port || 6379),
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    db: Number(pathname.slice(1)),
    ...tlsOptions(protocol === 'rediss:', security),
    ...(follows && { follows }),
  };
}

export function nodeEndpoint(
  address: ClusterAddress,
  { host, port }: RedisHost,
  security: Security,
): FollowingOptions {
  return { host, port, ...redisUserOptions(address, security), ...tlsOptions(address.tls, security) };
}
