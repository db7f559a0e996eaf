import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { credentials, type ChannelCredentials } from '@grpc/grpc-js';
import { checkedOptions, type Known } from '../known-options';
import { checkedText } from '../texts';
import { invalidOption } from '../time-span';
import { hostOf, type Server } from './servers';

/** The path of a PEM file, or a PEM text: `-----BEGIN …`. */
export type Pem = Uint8Array | string;

export interface TlsOptions {
  /** The certificate authorities of the servers. Default: those of Node. */
  readonly ca?: Pem | undefined;
  /** The client's certificate, with its chain. Needs `key`. */
  readonly cert?: Pem | undefined;
  readonly key?: Pem | undefined;
  /** The name in the server's certificate, if it differs from the address. For tests. */
  readonly serverName?: string | undefined;
}

const TLS: Known<TlsOptions> = { ca: true, cert: true, key: true, serverName: true };

/** Throws an InvalidRequestError for a value that says neither TLS nor no TLS, for example `false`, and for wrong fields. */
export function checkTls(tls: unknown): void {
  if (tls === undefined || tls === true) return;
  if (typeof tls !== 'object' || tls === null) {
    const given = tls === null ? 'null' : typeof tls;
    throw invalidOption('tls', `true, { ca, cert, key, serverName }, or left out, not ${given}`);
  }
  const { ca, cert, key, serverName } = checkedOptions(tls as TlsOptions, TLS);
  for (const [name, pem] of Object.entries({ ca, cert, key })) checkPem(name, pem);
  if ((cert === undefined) !== (key === undefined))
    throw invalidOption('tls', 'given cert and key, or neither');
  if (serverName !== undefined) checkedText('serverName', serverName);
}

function checkPem(name: string, pem: unknown): void {
  if (pem === undefined || typeof pem === 'string' || pem instanceof Uint8Array) return;
  throw invalidOption(name, `a path, a PEM text or a buffer, not ${typeof pem}`);
}

/**
 * The credentials of one connection. Files are read for each connection, so a renewed certificate needs no restart.
 * Throws if a file cannot be read, or has no certificate or key.
 */
export function channelCredentials(tls: TlsOptions | true | undefined): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  const { ca, cert, key } = tls === true ? {} : tls;
  return credentials.createSsl(certificates(ca), privateKey(key), certificates(cert));
}

/** The name that the server's certificate must have, as options of a channel. Default: that of the caller's address. */
export function channelOptions(
  tls: TlsOptions | true | undefined,
  { given, address }: Partial<Server> = {},
): Record<string, string | number> {
  const serverName = tls === true ? undefined : tls?.serverName;
  const own = serverName ?? (given !== undefined && address !== undefined ? hostOf(given) : undefined);
  if (own === undefined) return {};
  return {
    'grpc.ssl_target_name_override': own,
    'grpc.default_authority': serverName ?? given ?? own,
    // The environment leaves out names, not what they mean.
    ...(address !== undefined && { 'grpc.enable_http_proxy': 0 }),
  };
}

/** Node itself ignores an authority that is no certificate, and then trusts no server. */
function certificates(pem: Pem | undefined): Buffer | null {
  return readable(pem, 'certificate', (read) => new X509Certificate(read));
}

/** The error of Node names no file. */
function privateKey(pem: Pem | undefined): Buffer | null {
  return readable(pem, 'private key', createPrivateKey);
}

function readable(pem: Pem | undefined, what: string, parse: (read: Buffer) => unknown): Buffer | null {
  const read = bytes(pem);
  if (read === null) return null;
  try {
    // Node reads other forms too, and gRPC does not.
    if (!isText(read.toString('latin1'))) throw new Error('no PEM');
    parse(read);
  } catch (cause) {
    throw new Error(`${nameOf(pem)} has no ${what} in PEM`, { cause });
  }
  return read;
}

/** A text stays out of errors, because it may be a key. A key in base64 looks like a path, but is longer. */
function nameOf(pem: Pem | undefined): string {
  return typeof pem === 'string' && !isText(pem) && pem.length < 256 ? pem : 'the given text';
}

function isText(pem: string): boolean {
  return pem.includes('-----BEGIN ');
}

function bytes(pem: Pem | undefined): Buffer | null {
  if (pem === undefined) return null;
  if (typeof pem !== 'string') return Buffer.from(pem);
  return isText(pem) ? Buffer.from(pem) : fileOf(pem);
}

function fileOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    if (nameOf(path) === path) throw error;
    // The error of Node shows the whole path.
    throw new Error(`the given text is no PEM, and no file (${(error as NodeJS.ErrnoException).code})`);
  }
}
