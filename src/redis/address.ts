import type { RedisOptions as AnyRedisOptions } from 'ioredis';

/** Replies come in the shapes of the old protocol, which is the one that is spoken. */
export type RedisOptions = Omit<AnyRedisOptions, 'replyMapping'>;

export interface Host {
  readonly host: string;
  readonly port: number;
}

export interface User {
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** How the Redis that keeps the state is reached: one, the one that Sentinel names, or a Cluster. */
export type StoreAddress =
  /** `redis://…`, `rediss://…`, or the path of a unix socket. */
  | { readonly kind: 'single'; readonly url: string; readonly tls: boolean }
  | (User & {
      readonly kind: 'sentinel';
      readonly sentinels: readonly Host[];
      /** As the sentinels call the master. */
      readonly master: string;
      readonly db: number;
      readonly tls: boolean;
    })
  | (User & { readonly kind: 'cluster'; readonly seeds: readonly Host[]; readonly tls: boolean });

/** PEM texts for connections with TLS; what is undefined is left to the known authorities, or not shown. */
export interface TlsFiles {
  readonly ca: Buffer | undefined;
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
}

export interface Security {
  readonly tls: TlsFiles | undefined;
  /** What the sentinels themselves ask for. */
  readonly sentinelUser: User | undefined;
}

/** What one connection is made to: a URL, or what ioredis is told. */
export type Endpoint = string | RedisOptions;

export function tlsOptions(tls: boolean, { tls: files }: Security): Pick<RedisOptions, 'tls'> {
  if (!tls) return {};
  const { ca, cert, key } = files ?? {};
  return { tls: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) } };
}

export function userOptions({ username, password }: User): Pick<RedisOptions, 'username' | 'password'> {
  return { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
}

/** One Redis. What a URL says ioredis reads itself; a URL of TLS is given its files beside. */
export function singleEndpoint(url: string, security: Security): Endpoint {
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
  address: Extract<StoreAddress, { kind: 'cluster' }>,
  { host, port }: Host,
  security: Security,
): RedisOptions {
  return { host, port, ...userOptions(address), ...tlsOptions(address.tls, security) };
}
