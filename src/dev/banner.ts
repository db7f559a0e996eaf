import { readServerCertificate } from './client-flags';
import { firstCommands, type Credentials } from './first-commands';

/** Facts about a server that listens. */
export interface ServerInfo {
  /** "127.0.0.1:50051", or "unix:/path". */
  readonly listen: string;
  readonly redis: string;
  readonly version: string;
  /** The path of the certificate chain. Undefined: no TLS. */
  readonly tlsCert: string | undefined;
  /** How callers may prove an identity. */
  readonly credentials: Credentials;
}

export interface StoreInfo {
  /** One line with the kind of store and its address. */
  readonly description: string;
  /** The folder of the private Redis. Undefined: the user runs the store. */
  readonly dataFolder: string | undefined;
}

/** The address for a client on this machine. A server that listens on all addresses is called by loopback. */
function clientAddress(listen: string): string {
  return listen.replace(/^0\.0\.0\.0:/, '127.0.0.1:').replace(/^\[::\]:/, '[::1]:');
}

/**
 * The text that `npm start` and `holdfast dev` print when the server is ready. Only a clone, where npm starts the server,
 * has the examples and no `holdfast` on the PATH.
 */
export function banner(server: ServerInfo, store: StoreInfo, isUnderNpm: boolean): string {
  const { listen, version, tlsCert, credentials } = server;
  const certificate = tlsCert === undefined ? undefined : readServerCertificate(tlsCert);
  const hasCredentials = credentials.token || credentials.certificate;
  const protection = `${certificate ? 'TLS' : 'no TLS'}, ${hasCredentials ? 'credentials required' : 'no credentials'}`;
  const rows = [
    ['gRPC', `${clientAddress(listen)} (health and reflection are on)`],
    ['store', store.description],
    ...(store.dataFolder === undefined ? [] : [['data', `${store.dataFolder} (kept across restarts)`]]),
  ];
  const address = clientAddress(listen);
  return [
    '',
    `  Holdfast ${version}   DEVELOPMENT: one machine, ${protection}`,
    '',
    ...rows.map(([name, value]) => `  ${`${name}:`.padEnd(7)}${value}`),
    '',
    ...(address.startsWith('unix:')
      ? UNIX_HINT
      : firstCommands({ address, certificate, credentials }, isUnderNpm)),
    '  Ctrl-C drains and stops the server.',
    '',
  ].join('\n');
}

const UNIX_HINT = [
  '  The program holdfast, the client packages and the examples need an address with host and port.',
  '  For them, set HOLDFAST_LISTEN to host:port.',
  '',
];
