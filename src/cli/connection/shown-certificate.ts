import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Pem, TlsOptions } from '../../../clients/typescript/connection/tls';
import { readCertificateTime } from '../../transport/access/time-of-day';

/** A server that does not answer the handshake in this time counts as unreachable (ms). */
const TIMEOUT_MS = 5000;

/**
 * The end (ms since 1970) of the certificate that a new connection to the address gets, which the contract does not tell.
 * The client of the command has verified the server; this connection reads a date only, and sends nothing. Rejects if no
 * server answers.
 */
export async function certificateEnd(address: string, tls: TlsOptions | true): Promise<number> {
  const socket = open(address, tls === true ? {} : tls);
  const timer = setTimeout(() => socket.destroy(new Error('no answer')), TIMEOUT_MS);
  try {
    await once(socket, 'secureConnect');
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined) throw new Error('the server has shown no certificate');
    return readCertificateTime(certificate.validTo);
  } finally {
    clearTimeout(timer);
    socket.on('error', () => undefined).destroy();
  }
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
  return typeof pem === 'string' ? readFileSync(pem) : pem;
}
