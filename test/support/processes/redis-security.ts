import { join } from 'node:path';
import { ROOT } from '../root';

/** A self-signed certificate for 127.0.0.1, which clients and servers share. */
const folder = join(ROOT, 'test/contract/tls');
const CERT = join(folder, 'cert.pem');
const KEY = join(folder, 'key.pem');

/** Arguments for TLS with client certificates on a second port, and for TLS of replicas and of the cluster bus. */
export function tlsArguments(port: number): string[] {
  return [
    ...['--tls-port', String(port), '--tls-cert-file', CERT, '--tls-key-file', KEY],
    ...['--tls-ca-cert-file', CERT, '--tls-auth-clients', 'yes', '--tls-replication', 'yes'],
  ];
}

/** The arguments of `tlsArguments` as lines of a configuration file. */
export function tlsLines(port: number): string[] {
  const args = tlsArguments(port);
  return args.flatMap((arg, i) => (i % 2 === 0 ? [`${arg.slice(2)} ${args[i + 1]}`] : []));
}

/** The settings of a Holdfast server that connects with this certificate. */
export const tlsSettings: Readonly<Record<string, string>> = {
  HOLDFAST_REDIS_TLS_CA: CERT,
  HOLDFAST_REDIS_TLS_CERT: CERT,
  HOLDFAST_REDIS_TLS_KEY: KEY,
};
