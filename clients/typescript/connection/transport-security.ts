import { status } from '@grpc/grpc-js';
import { CredentialError } from '../errors';

/**
 * Throws a CredentialError if a token would cross a network without TLS, where others can read and use the token.
 * gRPC refuses such credentials too. A loopback address is no network.
 */
export function refuseTokenWithoutTls(addresses: readonly string[]): void {
  const far = addresses.find((address) => !isLoopback(address));
  if (far === undefined) return;
  const text =
    `the token would go to ${far} without TLS, and anybody on the way could use the token: ` +
    'set the option tls, or set allowInsecureToken if the network itself is encrypted';
  throw new CredentialError(text, { reason: 'TOKEN_WITHOUT_TLS', code: status.UNAUTHENTICATED });
}

/** Whether the address ("host:port") leads to the own machine. */
export function isLoopback(address: string): boolean {
  const host = address
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase();
  return host === 'localhost' || host === '::1' || /^(::ffff:)?127\.\d+\.\d+\.\d+$/.test(host);
}
