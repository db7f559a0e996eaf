import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';

/** The certificate of a server, as a client sees it. */
interface ServerCertificate {
  readonly leaf: X509Certificate;
  /** The path of a file with the authority of the certificate. Undefined: the authority is not in the server's file. */
  readonly ownAuthority: string | undefined;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs;

/** Reads the file with the certificate chain of a server that listens, so the file is known to be right. */
function readServerCertificate(file: string): ServerCertificate {
  const text = readFileSync(file, 'utf8');
  const chain = (text.match(CERTIFICATE) ?? []).map((pem) => new X509Certificate(pem));
  return {
    leaf: new X509Certificate(text),
    ownAuthority: chain.some(isSelfSigned) ? resolve(file) : undefined,
  };
}

/** A client can trust only a certificate that has signed itself. */
function isSelfSigned(certificate: X509Certificate): boolean {
  return certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey);
}

/** The flags with which `holdfast` calls the address by TLS. */
function clientFlags({ leaf, ownAuthority }: ServerCertificate, address: string): string[] {
  const host = address.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  const [, otherName] = /(?:^|, )DNS:([^*",\s]+)/.exec(leaf.subjectAltName ?? '') ?? [];
  const isNamed = (isIP(host) === 0 ? leaf.checkHost(host) : leaf.checkIP(host)) !== undefined;
  return [
    ...(ownAuthority === undefined ? ['--tls'] : ['--ca', ownAuthority]),
    ...(isNamed || otherName === undefined ? [] : ['--server-name', otherName]),
  ];
}

/** The word in quotes, if a shell would change the word without quotes. */
function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** What the commands of the banner must know about the server. */
export interface CalledServer {
  /** "127.0.0.1:50051". */
  readonly address: string;
  /** Undefined: no TLS. */
  readonly certificate: ServerCertificate | undefined;
  /** The ways in which a caller may prove an identity. */
  readonly credentials: Credentials;
}

interface Credentials {
  readonly token: boolean;
  readonly certificate: boolean;
}

/** The address that the program `holdfast` calls without `--address`. */
const DEFAULT_ADDRESS = '127.0.0.1:50051';

/** The first commands for a new user. Each works as printed, after the exports above the commands. */
function firstCommands(server: CalledServer, isUnderNpm: boolean): string[] {
  const { address, certificate } = server;
  const program = isUnderNpm ? 'npx holdfast' : 'holdfast';
  const flags = [
    ...(address === DEFAULT_ADDRESS ? [] : ['--address', address]),
    ...(certificate === undefined ? [] : clientFlags(certificate, address)),
  ];
  const to = flags.map((flag) => ` ${shellWord(flag)}`).join('');
  const candidate = (value: string) =>
    isUnderNpm && isCalledByExample(server)
      ? `npm run leader -- demo --value ${value}`
      : `${program} elect demo${to} --value ${value} -- sh -c 'echo ${value} leads; sleep 60'`;
  return [
    ...exportLines(server),
    ...section('Run a command under a lock in a second terminal, and look at the holder in a third:', [
      `${program} lock run hello${to} -- sleep 5`,
      `${program} lock get hello${to}`,
    ]),
    ...section(
      'Start two candidates, each in its own terminal. Ctrl-C in one of them, and the other leads:',
      [candidate('alice'), candidate('bob')],
    ),
  ];
}

/** The example programs know no TLS and no credentials, and call the default address. */
function isCalledByExample({ address, certificate, credentials }: CalledServer): boolean {
  return (
    address === DEFAULT_ADDRESS && certificate === undefined && !credentials.token && !credentials.certificate
  );
}

/** The variables with files that the server cannot name. */
function exportLines({ certificate, credentials }: CalledServer): string[] {
  const needsAuthority = certificate !== undefined && certificate.ownAuthority === undefined;
  return [
    ...section(
      'In each terminal, first name the authority of the server certificate, if it is a private one:',
      [...(needsAuthority ? ['export HOLDFAST_CA=FILE'] : [])],
    ),
    ...section('In each terminal, first name your credential, by one of these lines:', [
      ...(credentials.token ? ['export HOLDFAST_TOKEN_FILE=FILE'] : []),
      ...(credentials.certificate ? ['export HOLDFAST_CERT=FILE HOLDFAST_KEY=FILE'] : []),
    ]),
  ];
}

/** No line without commands. */
function section(title: string, commands: readonly string[]): string[] {
  return commands.length === 0 ? [] : [`  ${title}`, '', ...commands.map((one) => `    ${one}`), ''];
}

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
