import { constants } from 'node:crypto';
import type { SecureContextOptions } from 'node:tls';
import { createSecureContext } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';
import type { Log } from '../grpc/log';
import { readCertificates } from './pem';
import { msUntil, readCertificateTime, showTimeOfDay } from './time-of-day';
import { UnusableFile, WatchedFiles, type NamedFile } from './watched-files';

export interface TlsFiles {
  readonly certificate: NamedFile;
  readonly key: NamedFile;
  /** The authority of client certificates. Undefined: no client certificate is requested. */
  readonly clientAuthority?: NamedFile | undefined;
}

const MAX_FILE_BYTES = 2 ** 20;
const DAY_MS = 86_400_000;
/** How long before its end a certificate is reported, once a day. */
const WARNING_MS = 14 * DAY_MS;
const CHECK_MS = 3_600_000;

/**
 * The TLS credentials of the server's port. New files are used for new connections; open connections continue. Files
 * that do not fit together, are missing or half written are reported, and the last good ones stay in use. The watcher
 * of grpc-js (FileWatcherCertificateProvider) is not used, because it resets new connections in these cases.
 */
export class ServerCertificates {
  readonly credentials: ReloadingCredentials;
  private readonly watched: WatchedFiles;
  private ends: readonly (readonly [setting: string, endsAtMs: number])[] = [];
  private timer: NodeJS.Timeout | undefined;
  private warnedAt = -Infinity;
  /** The end of the server's own certificate, without the certificates of its chain. */
  private endsAtMs = -Infinity;

  constructor(
    private readonly files: TlsFiles,
    private readonly log: Log,
    intervalMs?: number,
  ) {
    const { certificate, key, clientAuthority } = files;
    this.credentials = new ReloadingCredentials(clientAuthority !== undefined);
    this.watched = new WatchedFiles({
      files: [certificate, key, ...(clientAuthority ? [clientAuthority] : [])],
      subject: 'the certificates',
      maxBytes: MAX_FILE_BYTES,
      load: ([chain, privateKey, authority]) => this.load(chain, privateKey, authority),
      log,
      intervalMs,
    });
  }

  /** Rejects with an UnusableFile. */
  async start(): Promise<void> {
    await this.watched.start();
    this.timer = setInterval(() => this.warnBeforeEnd(), CHECK_MS).unref();
  }

  close(): void {
    this.watched.close();
    clearInterval(this.timer);
  }

  private load(cert: Buffer | undefined, key: Buffer | undefined, ca: Buffer | undefined): void {
    const { certificate, key: keyFile, clientAuthority } = this.files;
    const context = { cert, key, ...(ca && { ca }) };
    const ends: (readonly [string, number])[] = [];
    let endsAtMs: number;
    try {
      ends.push([certificate.setting, earliestEnd(cert)]);
      createSecureContext(context);
      endsAtMs = firstEnd(cert);
      if (msUntil(endsAtMs) <= 0 && msUntil(this.endsAtMs) > 0)
        throw new Error('the certificate has ended, and the last one has not');
    } catch (cause) {
      throw new UnusableFile(
        `${certificate.setting} and ${keyFile.setting} cannot be used: ${String(cause)}`,
        {
          cause,
        },
      );
    }
    if (clientAuthority !== undefined) {
      try {
        ends.push([clientAuthority.setting, earliestEnd(ca)]);
      } catch (cause) {
        throw new UnusableFile(`${clientAuthority.setting} cannot be used: ${String(cause)}`, { cause });
      }
    }
    this.credentials.use(context);
    this.endsAtMs = endsAtMs;
    this.ends = ends;
    this.warnedAt = -Infinity;
    this.warnBeforeEnd();
  }

  /** Warns at most once a day. */
  private warnBeforeEnd(): void {
    const now = performance.now();
    if (now - this.warnedAt < DAY_MS) return;
    for (const [setting, endsAtMs] of this.ends) {
      const leftMs = msUntil(endsAtMs);
      if (leftMs > WARNING_MS) continue;
      this.warnedAt = now;
      const fields = { setting, end: showTimeOfDay(endsAtMs) };
      if (leftMs > 0) this.log.warn(fields, `a certificate ends in ${Math.ceil(leftMs / DAY_MS)} days`);
      else this.log.error(fields, 'a certificate has ended');
    }
  }
}

function earliestEnd(pem: Buffer | undefined): number {
  return Math.min(...endsOf(pem));
}

/** The server's own certificate is the first. */
function firstEnd(pem: Buffer | undefined): number {
  return endsOf(pem)[0] ?? -Infinity;
}

function endsOf(pem: Buffer | undefined): readonly number[] {
  const certificates = readCertificates(pem ?? Buffer.alloc(0));
  return certificates.map(({ validTo }) => readCertificateTime(validTo));
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
