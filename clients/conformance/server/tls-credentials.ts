import { readFileSync } from 'node:fs';
import { ServerCredentials } from '@grpc/grpc-js';

/** Paths of PEM files. */
export interface TlsFiles {
  /** The authority of the clients. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface ServerTls extends TlsFiles {
  /** The client needs a certificate of the authority. */
  readonly clients: boolean;
}

/** Credentials of a scripted server. A case may replace the certificate. Open connections continue. */
export class TlsCredentials extends ServerCredentials {
  constructor(tls: ServerTls) {
    super({ requestCert: tls.clients, rejectUnauthorized: tls.clients });
    this.use(tls);
  }

  use({ ca, cert, key }: TlsFiles): void {
    this.updateSecureContextOptions({
      ca: readFileSync(ca),
      cert: readFileSync(cert),
      key: readFileSync(key),
    });
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}
