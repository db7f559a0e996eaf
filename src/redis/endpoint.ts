import { connect as connectPlain, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import type { RedisOptions as AnyRedisOptions } from 'ioredis';
import type { ClusterAddress, RedisHost, RedisUser, StoreAddress } from '../base/redis-address';
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

/** Where a connection goes: a host and port, or the path of a Unix socket. */
type ProbeTarget = { readonly host: string; readonly port: number } | { readonly path: string };

/** The kind of server that answers at an address. */
type AddressFinding =
  | { readonly kind: 'redis' }
  | { readonly kind: 'http' }
  /** `greeting` is the printable beginning of the answer. */
  | { readonly kind: 'other'; readonly greeting: string }
  /** No answer, although the connection was accepted. */
  | { readonly kind: 'silent' | 'closed' }
  /** A Redis or another server that speaks only TLS, or only without TLS. */
  | { readonly kind: 'expects-tls' | 'expects-no-tls' }
  /** No connection, or no TLS connection. `code` is the code of Node or of OpenSSL. */
  | { readonly kind: 'unreachable' | 'tls-failed'; readonly code: string; readonly message: string };

const PROBE_TIMEOUT_MS = 2000;
const PING = '*1\r\n$4\r\nPING\r\n';
/** Redis answers PING, or refuses it: NOAUTH, LOADING, DENIED (protected mode). */
const REDIS_ANSWER = /^(\+PONG|-[A-Z]+ )/;
const GREETING_CHARS = 40;
/** The first byte of an alert in TLS. */
const TLS_ALERT = 0x15;
/** The server's certificate is not accepted, or the server does not accept the client's certificate. */
const CERTIFICATE_PROBLEM = /CERT|SIGNATURE|ALERT/;

/**
 * Finds out what answers at an address, in at most three connections of 2 s. `tls` are the options of the configured TLS
 * connection; undefined: without TLS. Never rejects.
 */
async function probeAddress(
  target: ProbeTarget,
  tls: ConnectionOptions | undefined,
): Promise<AddressFinding> {
  if (tls === undefined) {
    const found = await ask(() => connectPlain({ ...target }));
    // A server that expects TLS answers with an alert, or closes the connection.
    return found.kind === 'closed' && (await speaksTls(target)) ? { kind: 'expects-tls' } : found;
  }
  const found = await ask(() => connectTls({ ...tls, ...target }));
  if (found.kind !== 'tls-failed' && found.kind !== 'silent' && found.kind !== 'closed') return found;
  if (found.kind === 'tls-failed' && CERTIFICATE_PROBLEM.test(found.code)) return found;
  const withoutTls = await ask(() => connectPlain({ ...target }));
  if (withoutTls.kind === 'redis') return { kind: 'expects-no-tls' };
  return withoutTls.kind === 'http' || withoutTls.kind === 'other' ? withoutTls : found;
}

function speaksTls(target: ProbeTarget): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectTls({ ...target, rejectUnauthorized: false });
    const end = (speaks: boolean): void => {
      resolve(speaks);
      socket.destroy();
    };
    socket.on('secureConnect', () => end(true));
    socket.on('error', () => end(false));
    socket.on('close', () => end(false));
    socket.setTimeout(PROBE_TIMEOUT_MS, () => end(false));
  });
}

/** Sends PING over a new connection, and judges the first bytes of the answer. */
function ask(open: () => Socket): Promise<AddressFinding> {
  return new Promise((resolve) => {
    const socket = open();
    let connected = false;
    const end = (finding: AddressFinding): void => {
      clearTimeout(timer);
      resolve(finding);
      socket.destroy();
    };
    const timer = setTimeout(() => {
      end(
        connected
          ? { kind: 'silent' }
          : unreachable('ETIMEDOUT', `no connection within ${PROBE_TIMEOUT_MS} ms`),
      );
    }, PROBE_TIMEOUT_MS);
    socket.on('connect', () => (connected = true));
    socket.on('data', (bytes: Buffer) => end(judge(bytes)));
    socket.on('close', () => end({ kind: 'closed' }));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const { code = '', message } = error;
      if (!connected) return end(unreachable(code, message));
      if (code === 'ECONNRESET' || code === 'EPIPE') return end({ kind: 'closed' });
      end({ kind: 'tls-failed', code, message });
    });
    socket.write(PING);
  });
}

function unreachable(code: string, message: string): AddressFinding {
  return { kind: 'unreachable', code, message };
}

function judge(bytes: Buffer): AddressFinding {
  // The alert is judged like a closed connection: only a handshake shows whether the server speaks TLS.
  if (bytes[0] === TLS_ALERT) return { kind: 'closed' };
  const text = bytes.toString('latin1');
  if (REDIS_ANSWER.test(text)) return { kind: 'redis' };
  if (text.startsWith('HTTP/')) return { kind: 'http' };
  return {
    kind: 'other',
    greeting: text
      .slice(0, GREETING_CHARS)
      .replace(/[^ -~]+/g, ' ')
      .trim(),
  };
}

/** What answers at one host of the store's address. */
export interface HostFinding {
  /** "host:port", or the path of a Unix socket. */
  readonly host: string;
  readonly found: AddressFinding;
}

const REDIS_PORT = 6379;

/** Finds out what answers at each host of the address: Redis, sentinels, or something else. Never rejects. */
export function probeStore(address: StoreAddress, security: Security): Promise<HostFinding[]> {
  const { tls } = tlsOptions(address.tls, security);
  return Promise.all(
    targetsOf(address).map(async (target) => ({
      host: shown(target),
      found: await probeAddress(target, tls),
    })),
  );
}

function shown(target: ProbeTarget): string {
  if ('path' in target) return target.path;
  const { host, port } = target;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function targetsOf(address: StoreAddress): readonly ProbeTarget[] {
  if (address.kind === 'sentinel') return address.sentinels;
  if (address.kind === 'cluster') return address.seeds;
  if (!/^rediss?:/.test(address.url)) return [{ path: address.url }];
  const { hostname, port } = new URL(address.url);
  return [{ host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || REDIS_PORT) }];
}
