import { isAbsolute } from 'node:path';
import type { z } from 'zod';
import type { RedisHost, RedisUser, StoreAddress } from '../../base/redis-address';
import { parsed } from './values';

export interface RedisAddress {
  /** The full address, with the password. Not enumerable, so that no dump of the settings shows it. */
  readonly address: StoreAddress;
  /** The address without user and password, for logs and messages. */
  readonly shown: string;
}

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26_379;
const MAX_HOSTS = 32;

const SINGLE = 'redis://[user:password@]host[:port][/db], rediss://…, or the absolute path of a Unix socket';

/** The address of one Redis. */
export function redisAddress(): z.ZodType<RedisAddress, string> {
  // The message does not repeat the text, because the text may contain a password.
  return parsed(`${SINGLE}, with no ? or #`, readSingle);
}

/** The address of one Redis, of a master that Sentinel names, or of a Cluster. */
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
  // The Redis client takes options from the query string, and such an option could make locks unsafe.
  if (!known || hostname === '' || search !== '' || hash !== '') return undefined;
  if (!/^(\/\d{0,4})?$/.test(pathname)) return undefined;
  return hidden(
    { kind: 'single', url: text, tls: protocol === 'rediss:' },
    `${protocol}//${host}${pathname}`,
  );
}

function readSentinel(text: string): RedisAddress | undefined {
  const parts = readHostList(text, 'sentinel', SENTINEL_PORT);
  const [, master, db = ''] = /^\/([A-Za-z0-9._-]{1,128})(?:\/(\d{0,4}))?$/.exec(parts?.path ?? '') ?? [];
  if (parts === undefined || master === undefined) return undefined;
  const { hosts: sentinels, user, tls, shown } = parts;
  const address = { kind: 'sentinel', sentinels, master, db: Number(db), tls, ...user } as const;
  return hidden(address, `${shown}/${master}${db === '' ? '' : `/${db}`}`);
}

/** The address of a Cluster has no database number, because a Cluster has only one database. */
function readCluster(text: string): RedisAddress | undefined {
  const parts = readHostList(text, 'cluster', REDIS_PORT);
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

/** Reads an address with several hosts, which the URL class cannot parse. */
function readHostList(text: string, kind: 'sentinel' | 'cluster', defaultPort: number): Parts | undefined {
  const pattern = new RegExp(`^(rediss?\\+${kind})://(?:([^@/?#\\s]*)@)?([^@/?#\\s]+)(/[^?#\\s]*)?$`);
  const [, scheme = '', credentials, list, path = ''] = pattern.exec(text) ?? [];
  if (list === undefined) return undefined;
  const user = credentials === undefined ? NO_USER : readUser(credentials);
  const hosts = list.split(',').map((host) => readHost(host, defaultPort));
  if (user === undefined || hosts.length > MAX_HOSTS) return undefined;
  if (!hosts.every((host) => host !== undefined)) return undefined;
  return {
    hosts,
    user,
    path,
    tls: scheme.startsWith('rediss'),
    shown: `${scheme}://${list}`,
  };
}

const NO_USER: RedisUser = { username: undefined, password: undefined };

/** Reads `user:password`, `:password` or `user`. The parts are percent-encoded, as in a URL. */
function readUser(text: string): RedisUser | undefined {
  const [, username, password] = /^([^:]*):([^:]+)$/.exec(text) ?? [];
  if (username === undefined || password === undefined) return readUserAlone(text);
  try {
    return {
      username: username === '' ? undefined : decodeURIComponent(username),
      password: decodeURIComponent(password),
    };
  } catch {
    return undefined; // malformed percent-encoding
  }
}

/** The password may be in a file. */
function readUserAlone(text: string): RedisUser | undefined {
  if (text === '' || text.includes(':')) return undefined;
  try {
    return { username: decodeURIComponent(text), password: undefined };
  } catch {
    return undefined; // malformed percent-encoding
  }
}

function readHost(text: string, defaultPort: number): RedisHost | undefined {
  const [, v6, name, digits] = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = v6 ?? name;
  const port = digits === undefined ? defaultPort : Number(digits);
  return host !== undefined && port > 0 && port <= 65_535 ? { host, port } : undefined;
}

/** The user and password for the sentinels. They usually differ from the user and password for Redis. */
export function sentinelUser(): z.ZodType<{ readonly user: RedisUser }, string> {
  return parsed('user:password or :password, percent-encoded as in a URL', (text) => {
    const user = readUser(text);
    if (user?.password === undefined) return undefined;
    return user && (hide({}, 'user', user) as { readonly user: RedisUser });
  });
}

/** Puts the address, which may contain a password, into a property that is not enumerable. So no dump shows it. */
function hidden(address: StoreAddress, shown: string): RedisAddress {
  return hide({ shown }, 'address', Object.freeze(address)) as RedisAddress;
}

function hide(object: object, name: string, value: unknown): object {
  Object.defineProperty(object, name, { value, enumerable: false });
  return Object.freeze(object);
}
