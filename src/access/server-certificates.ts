import { constants } from 'node:crypto';
import type { SecureContextOptions } from 'node:tls';
import { createSecureContext } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';
import type { Log } from '../base/log';
import {
  certificatesOf,
  earliestEnd,
  endsOf,
  type CertificateEnds,
  type CertificatesInUse,
} from './certificate-ends';
import { msUntil } from './time-of-day';
import { UnusableFile, WatchedFiles, type NamedFile } from './watched-files';

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
