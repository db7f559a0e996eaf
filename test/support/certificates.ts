import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { copyFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { join } from 'node:path';

/**
 * X.509 certificates, as `openssl` makes them by the commands of docs/operations/security.md. Made in this process, because
 * many tests want some, and a process that makes one blocks the test for 50 ms.
 */

export interface Issued {
  /** Paths of PEM files. */
  readonly cert: string;
  readonly key: string;
}

export interface Wanted {
  /** The alternative names, as in `openssl x509 -extfile`: `URI:spiffe://a/b,DNS:c`. In a list, a name may have a comma. */
  readonly names?: string | readonly string[];
  readonly commonName?: string;
  /** Lifetime, also a part of a day, to whole seconds. Negative: the certificate has ended. Default: 30. */
  readonly days?: number;
  /** Default: clientAuth and serverAuth. */
  readonly usage?: string;
}

/** Copies a file to a path. No reader of the path sees a part of the file. */
export function replaceFile(path: string, source: string): void {
  copyFileSync(source, `${path}.new`);
  renameSync(`${path}.new`, path);
}

/** Replaces both files at once, as far as two files can be replaced at once. */
export function replacePair(used: Issued, issued: Issued): void {
  replaceFile(used.cert, issued.cert);
  replaceFile(used.key, issued.key);
}

const DAY_MS = 86_400_000;

/** An element of DER. */
function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const length = content.length;
  const lengthBytes =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...lengthBytes]), content]);
}

const sequence = (...items: readonly Uint8Array[]): Buffer => der(0x30, ...items);
const octets = (content: Uint8Array): Buffer => der(0x04, content);
const bits = (content: Uint8Array): Buffer => der(0x03, Buffer.from([0]), content);
const objectId = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));

const ECDSA_WITH_SHA256 = sequence(objectId('2a8648ce3d040302'));
const USAGES: Readonly<Record<string, Buffer>> = {
  serverAuth: objectId('2b06010505070301'),
  clientAuth: objectId('2b06010505070302'),
};
/** The tags of alternative names. */
const NAME_TAGS: Readonly<Record<string, number>> = { email: 0x81, DNS: 0x82, URI: 0x86, IP: 0x87 };

function subject(commonName: string): Buffer {
  return sequence(der(0x31, sequence(objectId('550403'), der(0x0c, Buffer.from(commonName)))));
}

/** UTCTime, which is for the years until 2049. */
function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/\D/g, '').slice(2, 14);
  return der(0x17, Buffer.from(`${digits}Z`));
}

function alternativeName(text: string): Buffer {
  const [, kind = '', value = ''] = /^([^:]+):([^]*)$/.exec(text) ?? [];
  const tag = NAME_TAGS[kind];
  if (tag === undefined || (kind === 'IP' && !isIPv4(value))) throw new Error(`no alternative name: ${text}`);
  return der(tag, kind === 'IP' ? Buffer.from(value.split('.').map(Number)) : Buffer.from(value));
}

/** The extension with this id under 2.5.29. */
function extension(id: number, value: Buffer, isCritical = false): Buffer {
  const critical = isCritical ? [der(0x01, Buffer.from([255]))] : [];
  return sequence(der(0x06, Buffer.from([0x55, 0x1d, id])), ...critical, octets(value));
}

const pem = (content: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${content.toString('base64').replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`;

/** The key pair of a certificate. */
class Pair {
  readonly privateKey: KeyObject;
  /** SubjectPublicKeyInfo. */
  readonly info: Buffer;
  readonly id: Buffer;

  constructor(keyFile: string) {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.privateKey = privateKey;
    this.info = publicKey.export({ type: 'spki', format: 'der' });
    this.id = createHash('sha1').update(this.info.subarray(-65)).digest();
    writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  }
}

interface Content {
  readonly issuer: string;
  readonly of: string;
  readonly days: number;
  readonly pair: Pair;
  readonly extensions: readonly Buffer[];
}

/** @param signing the key pair of the authority */
function certificate({ issuer, of, days, pair, extensions }: Content, signing: Pair): string {
  const now = Date.now();
  const end = now + days * DAY_MS;
  const ids = [extension(14, octets(pair.id)), extension(35, sequence(der(0x80, signing.id)))];
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    // A serial number is positive, and has no zero in front.
    der(0x02, Buffer.concat([Buffer.from([0x40]), randomBytes(15)])),
    ECDSA_WITH_SHA256,
    subject(issuer),
    sequence(time(Math.min(now, end - DAY_MS)), time(end)),
    subject(of),
    pair.info,
    der(0xa3, sequence(...extensions, ...ids)),
  );
  return pem(sequence(content, ECDSA_WITH_SHA256, bits(sign('sha256', content, signing.privateKey))));
}

/** A certificate authority in a folder. */
export class Authority {
  readonly cert: string;
  private readonly pair: Pair;
  private count = 0;

  constructor(
    private readonly folder: string,
    private readonly name = 'authority',
  ) {
    this.cert = join(folder, `${name}.pem`);
    this.pair = new Pair(join(folder, `${name}.key`));
    const isAuthority = extension(19, sequence(der(0x01, Buffer.from([255]))), true);
    const content = { issuer: name, of: name, days: 3650, pair: this.pair, extensions: [isAuthority] };
    writeFileSync(this.cert, certificate(content, this.pair));
  }

  get pem(): Buffer {
    return readFileSync(this.cert);
  }

  issue({
    names = [],
    commonName = 'somebody',
    days = 30,
    usage = 'clientAuth,serverAuth',
  }: Wanted = {}): Issued {
    const base = join(this.folder, `${this.name}-${(this.count += 1)}`);
    const [cert, key] = [`${base}.pem`, `${base}.key`];
    const usages = usage.split(',').map((one) => USAGES[one] as Buffer);
    const extensions = [extension(37, sequence(...usages))];
    const list = typeof names === 'string' ? names.split(',') : names;
    if (list.length > 0) extensions.push(extension(17, sequence(...list.map(alternativeName))));
    const content = { issuer: this.name, of: commonName, days, pair: new Pair(key), extensions };
    writeFileSync(cert, certificate(content, this.pair));
    return { cert, key };
  }

  /** A certificate for a server on 127.0.0.1. */
  issueForServer(wanted: Wanted = {}): Issued {
    return this.issue({ names: 'IP:127.0.0.1,DNS:localhost', ...wanted });
  }
}
