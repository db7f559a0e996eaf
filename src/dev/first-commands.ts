import { clientFlags, shellWord, type ServerCertificate } from './client-flags';

/** What the commands of the banner must know about the server. */
export interface CalledServer {
  /** "127.0.0.1:50051". */
  readonly address: string;
  /** Undefined: no TLS. */
  readonly certificate: ServerCertificate | undefined;
  /** The ways in which a caller may prove an identity. */
  readonly credentials: Credentials;
}

export interface Credentials {
  readonly token: boolean;
  readonly certificate: boolean;
}

/** The address that the program `holdfast` calls without `--address`. */
const DEFAULT_ADDRESS = '127.0.0.1:50051';

/** The first commands for a new user. Each works as printed, after the exports above the commands. */
export function firstCommands(server: CalledServer, isUnderNpm: boolean): string[] {
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
