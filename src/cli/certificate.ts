import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Pem, TlsOptions } from '../../clients/typescript/connection/tls';
import { readAlternativeNames } from '../access/client-certificates';
import { readCertificateTime } from '../access/time-of-day';

export interface ShownCertificate {
  /** The alternative names as openssl writes them: `DNS:localhost`, `IP:127.0.0.1`. */
  readonly names: readonly string[];
  /** The end (ms since 1970). */
  readonly endMs: number;
}

/** A server that does not answer the handshake in this time counts as unreachable (ms). */
const TIMEOUT_MS = 5000;

/**
 * The certificate that a new connection to the address gets, which the contract does not tell. The client of the command
 * has verified the server; this connection reads names and a date only, and sends nothing. Rejects if no server answers.
 */
export async function shownCertificate(address: string, tls: TlsOptions | true): Promise<ShownCertificate> {
  const socket = open(address, tls === true ? {} : tls);
  const timer = setTimeout(() => socket.destroy(new Error('no answer')), TIMEOUT_MS);
  try {
    await once(socket, 'secureConnect');
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined) throw new Error('the server has shown no certificate');
    return { names: namesOf(certificate), endMs: readCertificateTime(certificate.validTo) };
  } finally {
    clearTimeout(timer);
    socket.on('error', () => undefined).destroy();
  }
}

function namesOf({ subjectAltName }: X509Certificate): string[] {
  return readAlternativeNames(subjectAltName ?? '').map(({ kind, value }) =>
    kind === 'IP Address' ? `IP:${value}` : `${kind}:${value}`,
  );
}

function open(address: string, { ca, cert, key, serverName }: TlsOptions): TLSSocket {
  const [, host = '', port = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(address) ?? [];
  const name = serverName ?? host;
  return connect({
    host,
    port: Number(port),
    rejectUnauthorized: false,
    ALPNProtocols: ['h2'],
    ...(isIP(name) === 0 && { servername: name }),
    ...(ca !== undefined && { ca: bytes(ca) }),
    // A proxy may ask for the certificate of the client.
    ...(cert !== undefined && { cert: bytes(cert) }),
    ...(key !== undefined && { key: bytes(key) }),
  });
}

/** The settings of the command line are paths. */
function bytes(pem: Pem): Buffer {
  return typeof pem === 'string' ? readFileSync(pem) : Buffer.from(pem);
}
