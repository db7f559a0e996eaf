import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';

/** Where a connection goes: a host and port, or the path of a Unix socket. */
export type ProbeTarget = { readonly host: string; readonly port: number } | { readonly path: string };

/** The kind of server that answers at an address. */
export type AddressFinding =
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
export async function probeAddress(
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
