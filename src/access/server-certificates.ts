import { constants, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';
import type { Log } from '../base/log';
import { DAY_MS, msUntil, readCertificateTime, showTimeOfDay } from './time-of-day';
import { type NamedFile, UnusableFile, WatchedFiles } from './watched-files';

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[^-]*-----END \1-----/g;

/**
 * Reads all certificates of a PEM file. OpenSSL ignores what it cannot read, so a half-written file must be noticed
 * here. Throws if a part of the file is damaged or cut off.
 */
function readCertificates(pem: Buffer): readonly X509Certificate[] {
  const text = pem.toString('latin1');
  const blocks = [...text.matchAll(BLOCK)];
  if (text.replace(BLOCK, '').includes('-----')) throw new Error('a part of the file is cut off or damaged');
  const certificates = blocks.filter(([, kind]) => kind === 'CERTIFICATE');
  if (certificates.length === 0) throw new Error('the file has no certificate in PEM form');
  return certificates.map(([block]) => new X509Certificate(block));
}

/** What a server uses a certificate for. */
export type CertificateUse = 'server' | 'client-authority' | 'redis-authority' | 'redis-client';

/** The certificates in use of one setting. */
interface CertificatesInUse {
  readonly use: CertificateUse;
  /** The name of the setting, for messages. */
  readonly setting: string;
  /** The earliest end of the certificates of the file: a chain or a list of authorities may have several. */
  readonly endsAtMs: number;
}

/** How long before its end a certificate is reported, once a day. */
const WARNING_MS = 14 * DAY_MS;
/** The wall clock may be set, so the time until an end is computed again at this interval. */
const CHECK_MS = 3_600_000;

interface Report {
  readonly at: number;
  readonly hasEnded: boolean;
}

/**
 * The ends of all certificates that a server uses, for metrics. Warns before the end of a certificate, once a day, and
 * reports the end itself when it comes.
 */
export class CertificateEnds {
  private readonly inUse = new Map<CertificateUse, CertificatesInUse>();
  private readonly reports = new Map<CertificateUse, Report>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly log: Log) {}

  /** Replaces the certificates of the same use. */
  set(certificates: CertificatesInUse): void {
    this.inUse.set(certificates.use, certificates);
    this.reports.delete(certificates.use);
    this.check();
  }

  /** Sets the certificates of a file. Throws an UnusableFile. */
  add({ use, setting, pem }: Omit<CertificatesInUse, 'endsAtMs'> & { readonly pem: Buffer }): void {
    this.set(certificatesOf(use, setting, pem));
  }

  all(): Iterable<CertificatesInUse> {
    return this.inUse.values();
  }

  close(): void {
    clearTimeout(this.timer);
  }

  private check(): void {
    clearTimeout(this.timer);
    let nextMs = CHECK_MS;
    for (const certificates of this.inUse.values()) {
      const leftMs = msUntil(certificates.endsAtMs);
      if (leftMs <= WARNING_MS) this.report(certificates, leftMs);
      if (leftMs > 0) nextMs = Math.min(nextMs, leftMs);
    }
    this.timer = setTimeout(() => this.check(), Math.max(1, nextMs)).unref();
  }

  private report({ use, setting, endsAtMs }: CertificatesInUse, leftMs: number): void {
    const now = performance.now();
    const hasEnded = leftMs <= 0;
    const last = this.reports.get(use);
    if (last?.hasEnded === hasEnded && now - last.at < DAY_MS) return;
    this.reports.set(use, { at: now, hasEnded });
    const fields = { setting, end: showTimeOfDay(endsAtMs) };
    const days = Math.ceil(leftMs / DAY_MS);
    if (hasEnded) this.log.error(fields, 'a certificate has ended');
    else this.log.warn(fields, `a certificate ends in ${days} ${days === 1 ? 'day' : 'days'}`);
  }
}

/** The ends of the certificates of a PEM file (ms since 1970), in the order of the file. Throws for a damaged file. */
function endsOf(pem: Buffer): readonly number[] {
  return readCertificates(pem).map(({ validTo }) => readCertificateTime(validTo));
}

function earliestEnd(pem: Buffer): number {
  return Math.min(...endsOf(pem));
}

/** The certificates of a file. Throws an UnusableFile. */
function certificatesOf(use: CertificateUse, setting: string, pem: Buffer): CertificatesInUse {
  try {
    return { use, setting, endsAtMs: earliestEnd(pem) };
  } catch (cause) {
    throw new UnusableFile(`${setting} cannot be used: ${String(cause)}`, { cause });
  }
}

export interface TlsFiles {
  readonly certificate: NamedFile;
  readonly key: NamedFile;
  /** The authority of client certificates. Undefined: no client certificate is requested. */
  readonly clientAuthority?: NamedFile | undefined;
}

const MAX_FILE_BYTES = 2 ** 20;
const EMPTY = Buffer.alloc(0);

/**
 * The TLS credentials of the server's port. New files are used for new connections; open connections continue. Files
 * that do not fit together, are missing or half written are reported, and the last good ones stay in use. The watcher
 * of grpc-js (FileWatcherCertificateProvider) is not used, because it resets new connections in these cases.
 */
export class ServerCertificates {
  readonly credentials: ReloadingCredentials;
  private readonly watched: WatchedFiles;
  /** The end of the server's own certificate, which is the first of its chain. */
  private endsAtMs = -Infinity;

  constructor(
    private readonly files: TlsFiles,
    private readonly ends: CertificateEnds,
    log: Log,
    intervalMs?: number,
  ) {
    const { certificate, key, clientAuthority } = files;
    this.credentials = new ReloadingCredentials(clientAuthority !== undefined);
    this.watched = new WatchedFiles({
      files: [certificate, key, ...(clientAuthority ? [clientAuthority] : [])],
      subject: 'the certificates',
      maxBytes: MAX_FILE_BYTES,
      load: ([chain = EMPTY, privateKey = EMPTY, authority]) => this.load(chain, privateKey, authority),
      log,
      intervalMs,
    });
  }

  /** Rejects with an UnusableFile. */
  start(): Promise<void> {
    return this.watched.start();
  }

  /** Whether the last change could not be used, so that older certificates are in use. */
  get hasFailed(): boolean {
    return this.watched.hasFailed;
  }

  close(): void {
    this.watched.close();
  }

  private load(cert: Buffer, key: Buffer, ca: Buffer | undefined): void {
    const { certificate, key: keyFile, clientAuthority } = this.files;
    const context = { cert, key, ...(ca && { ca }) };
    const inUse: CertificatesInUse[] = [];
    let endsAtMs: number;
    try {
      inUse.push({ use: 'server', setting: certificate.setting, endsAtMs: earliestEnd(cert) });
      createSecureContext(context);
      endsAtMs = endsOf(cert)[0] ?? -Infinity;
      if (msUntil(endsAtMs) <= 0 && msUntil(this.endsAtMs) > 0)
        throw new Error('the certificate has ended, and the last one has not');
    } catch (cause) {
      const settings = `${certificate.setting} and ${keyFile.setting}`;
      throw new UnusableFile(`${settings} cannot be used: ${String(cause)}`, { cause });
    }
    if (clientAuthority !== undefined && ca !== undefined) {
      inUse.push(certificatesOf('client-authority', clientAuthority.setting, ca));
    }
    this.credentials.use(context);
    this.endsAtMs = endsAtMs;
    for (const one of inUse) this.ends.set(one);
  }
}

/** Credentials of grpc-js with contents that change. Certificate, key and authority change together. */
class ReloadingCredentials extends ServerCredentials {
  constructor(private readonly requestsCertificates: boolean) {
    // A connection without a verified client certificate is accepted, and its calls get a status with the reason. A
    // refused handshake would be a connection error, which clients retry without end. Health answers without a
    // certificate.
    super({ requestCert: requestsCertificates, rejectUnauthorized: false });
  }

  use(context: SecureContextOptions): void {
    this.updateSecureContextOptions({
      ...context,
      // A resumed session would skip the check of the client's certificate against the present authority.
      ...(this.requestsCertificates && { secureOptions: constants.SSL_OP_NO_TICKET }),
    });
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}
