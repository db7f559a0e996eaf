import { join } from 'node:path';
import { ROOT } from '../root';

/** A certificate for 127.0.0.1 that is its own authority, good for both sides of a connection. */
const folder = join(ROOT, 'test/contract/tls');
const CERT = join(folder, 'cert.pem');
const KEY = join(folder, 'key.pem');

/** The user that servers are to be; the tests' own hands come without one. */
const USER = 'app';
const PASSWORD = 'a:s3cret@';
/** As the README says. */
const RIGHTS = ['~holdfast:*', '&holdfast:*', '+@all', '-@dangerous', '+info', '+config|get', '+cluster'];

export const credentials = `${USER}:${encodeURIComponent(PASSWORD)}@`;

/** For redis-server: TLS on a second port, where a certificate is asked for. Replicas and the bus use it too. */
export function tlsArguments(port: number): string[] {
  return [
    ...['--tls-port', String(port), '--tls-cert-file', CERT, '--tls-key-file', KEY],
    ...['--tls-ca-cert-file', CERT, '--tls-auth-clients', 'yes', '--tls-replication', 'yes'],
  ];
}

/** For a configuration file. */
export function tlsLines(port: number): string[] {
  const args = tlsArguments(port);
  return args.flatMap((arg, i) => (i % 2 === 0 ? [`${arg.slice(2)} ${args[i + 1]}`] : []));
}

/** Makes the user; nothing but what Holdfast needs. */
export function userCommand(): [string, ...string[]] {
  return ['ACL', 'SETUSER', USER, 'on', `>${PASSWORD}`, ...RIGHTS];
}

/** Settings of a server that connects so. */
export const tlsSettings: Readonly<Record<string, string>> = {
  HOLDFAST_REDIS_TLS_CA: CERT,
  HOLDFAST_REDIS_TLS_CERT: CERT,
  HOLDFAST_REDIS_TLS_KEY: KEY,
};
