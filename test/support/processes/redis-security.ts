import { join } from 'node:path';
import { ROOT } from '../root';

/** A self-signed certificate for 127.0.0.1, which clients and servers share. */
const folder = join(ROOT, 'test/contract/tls');
const CERT = join(folder, 'cert.pem');
const KEY = join(folder, 'key.pem');

/** The Redis user of Holdfast servers. The tests themselves connect as the default user. */
const USER = 'app';
const PASSWORD = 'a:s3cret@';
/** The rights that Holdfast needs. See docs/operations/deploy.md. */
const RIGHTS = ['~holdfast:*', '&holdfast:*', '+@all', '-@dangerous', '+info', '+config|get', '+cluster'];

export const credentials = `${USER}:${encodeURIComponent(PASSWORD)}@`;

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

/** The command that creates the user with no more rights than Holdfast needs. */
export function userCommand(): [string, ...string[]] {
  return ['ACL', 'SETUSER', USER, 'on', `>${PASSWORD}`, ...RIGHTS];
}

/** The settings of a Holdfast server that connects with this certificate. */
export const tlsSettings: Readonly<Record<string, string>> = {
  HOLDFAST_REDIS_TLS_CA: CERT,
  HOLDFAST_REDIS_TLS_CERT: CERT,
  HOLDFAST_REDIS_TLS_KEY: KEY,
};
