import { isAbsolute } from 'node:path';
import type { z } from 'zod';
import { parsed } from './values';

/** Where one Redis process listens. */
export interface RedisHost {
  readonly host: string;
  readonly port: number;
}

export interface RedisUser {
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** How the Redis that keeps the state is reached; the store has the same shape. */
export type StoreAddress =
  /** `redis://…`, `rediss://…`, or the path of a unix socket. */
  | { readonly kind: 'single'; readonly url: string; readonly tls: boolean }
  | (RedisUser & {
      readonly kind: 'sentinel';
      readonly sentinels: readonly RedisHost[];
      /** As the sentinels call the master. */
      readonly master: string;
      readonly db: number;
      readonly tls: boolean;
    })
  | (RedisUser & { readonly kind: 'cluster'; readonly seeds: readonly RedisHost[]; readonly tls: boolean });

export interface RedisAddress {
  /** For the client: with the password, if there is one. */
  readonly address: StoreAddress;
  /** For logs and people: without it. */
  readonly shown: string;
}

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26_379;
const MOST_HOSTS = 32;

const SINGLE = 'redis://[user:password@]host[:port][/db], rediss://…, or the absolute path of a Unix socket';

/** One Redis. */
export function redisAddress(): z.ZodType<RedisAddress, string> {
  // The text stays out of the message: it may have a password in it.
  return parsed(`${SINGLE}, with no ? or #`, readSingle);
}

/** One Redis, one that Sentinel names, or a Cluster. */
export function storeAddress(): z.ZodType<RedisAddress, string> {
  const expected = `${SINGLE}, redis+sentinel://[user:password@]host[:port],…/master[/db], or redis+cluster://[user:password@]host[:port],… (rediss+… for TLS), with no ? or #`;
  return parsed(expected, (text) => readSingle(text) ?? readSentinel(text) ?? readCluster(text));
}

function readSingle(text: string): RedisAddress | undefined {
  const path = text.replace(/^(redis\+)?unix:(\/\/)?(?=\/)/, '');
  if (isAbsolute(path)) return hidden({ kind: 'single', url: path, tls: false }, path);
  if (!URL.canParse(text)) return undefined;
  const { protocol, hostname, host, pathname, search, hash } = new URL(text);
  const known = protocol === 'redis:' || protocol === 'rediss:';
  // The client would take any option from a query, those that keep locks safe too.
  if (!known || hostname === '' || search !== '' || hash !== '') return undefined;
  if (!/^(\/\d{0,4})?$/.test(pathname)) return undefined;
  return hidden(
    { kind: 'single', url: text, tls: protocol === 'rediss:' },
    `${protocol}//${host}${pathname}`,
  );
}

function readSentinel(text: string): RedisAddress | undefined {
  const parts = readMany(text, 'sentinel', SENTINEL_PORT);
  const [, master, db = ''] = /^\/([A-Za-z0-9._-]{1,128})(?:\/(\d{0,4}))?$/.exec(parts?.path ?? '') ?? [];
  if (parts === undefined || master === undefined) return undefined;
  const { hosts: sentinels, user, tls, shown } = parts;
  const address = { kind: 'sentinel', sentinels, master, db: Number(db), tls, ...user } as const;
  return hidden(address, `${shown}/${master}${db === '' ? '' : `/${db}`}`);
}

/** A Cluster has no numbered databases. */
function readCluster(text: string): RedisAddress | undefined {
  const parts = readMany(text, 'cluster', REDIS_PORT);
  if (parts === undefined || !/^\/?$/.test(parts.path)) return undefined;
  const { hosts: seeds, user, tls, shown } = parts;
  return hidden({ kind: 'cluster', seeds, tls, ...user }, shown);
}

interface Parts {
  readonly hosts: readonly RedisHost[];
  readonly user: RedisUser;
  readonly path: string;
  readonly tls: boolean;
  readonly shown: string;
}

/** An address of several hosts, which is no URL to a parser of such. */
function readMany(text: string, kind: 'sentinel' | 'cluster', usualPort: number): Parts | undefined {
  const pattern = new RegExp(`^(rediss?\\+${kind})://(?:([^@/?#\\s]*)@)?([^@/?#\\s]+)(/[^?#\\s]*)?$`);
  const [, scheme = '', credentials, list, path = ''] = pattern.exec(text) ?? [];
  if (list === undefined) return undefined;
  const user = credentials === undefined ? NOBODY : readUser(credentials);
  const hosts = list.split(',').map((one) => readHost(one, usualPort));
  if (user === undefined || hosts.length > MOST_HOSTS) return undefined;
  if (!hosts.every((one) => one !== undefined)) return undefined;
  return {
    hosts,
    user,
    path,
    tls: scheme.startsWith('rediss'),
    shown: `${scheme}://${list}`,
  };
}

const NOBODY: RedisUser = { username: undefined, password: undefined };

/** `user:password` or `:password`, percent-encoded as in any URL. */
function readUser(text: string): RedisUser | undefined {
  const [, username, password] = /^([^:]*):([^:]+)$/.exec(text) ?? [];
  if (username === undefined || password === undefined) return undefined;
  try {
    return {
      username: username === '' ? undefined : decodeURIComponent(username),
      password: decodeURIComponent(password),
    };
  } catch {
    return undefined; // a lone %
  }
}

function readHost(text: string, usualPort: number): RedisHost | undefined {
  const [, v6, name, digits] = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = v6 ?? name;
  const port = digits === undefined ? usualPort : Number(digits);
  return host !== undefined && port > 0 && port <= 65_535 ? { host, port } : undefined;
}

/** What the sentinels themselves ask for, which is seldom what Redis asks for. */
export function sentinelUser(): z.ZodType<{ readonly user: RedisUser }, string> {
  return parsed('user:password or :password, percent-encoded as in a URL', (text) => {
    const user = readUser(text);
    return user && (hide({}, 'user', user) as { readonly user: RedisUser });
  });
}

/** The secret is there for whoever asks for it, and nowhere in a dump of the settings. */
function hidden(address: StoreAddress, shown: string): RedisAddress {
  return hide({ shown }, 'address', Object.freeze(address)) as RedisAddress;
}

function hide(object: object, name: string, value: unknown): object {
  Object.defineProperty(object, name, { value, enumerable: false });
  return Object.freeze(object);
}
