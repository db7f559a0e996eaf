/** Facts about a server that listens. */
export interface ServerInfo {
  /** "127.0.0.1:50051", or "unix:/path". */
  readonly listen: string;
  readonly redis: string;
  readonly version: string;
  /** Default: false. */
  readonly tls?: boolean;
  /** Whether callers must prove who they are. Default: false. */
  readonly authentication?: boolean;
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

/** The address that the program `holdfast` calls without `--address`. */
const DEFAULT_ADDRESS = '127.0.0.1:50051';

/**
 * The text that `npm start` and `holdfast dev` print when the server is ready. Only a clone, where npm starts the server,
 * has the examples and no `holdfast` on the PATH.
 */
export function banner(server: ServerInfo, store: StoreInfo, isUnderNpm: boolean): string {
  const { listen, version, tls = false, authentication = false } = server;
  const protection = `${tls ? 'TLS' : 'no TLS'}, ${authentication ? 'credentials required' : 'no credentials'}`;
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
    ...(address.startsWith('unix:') ? UNIX_HINT : firstCommands(address, isUnderNpm)),
    '',
    '  Ctrl-C drains and stops the server.',
    '',
  ].join('\n');
}

const UNIX_HINT = [
  '  The program holdfast, the client packages and the examples need an address with host and port.',
  '  For them, set HOLDFAST_LISTEN to host:port.',
];

function firstCommands(address: string, isUnderNpm: boolean): string[] {
  const flag = address === DEFAULT_ADDRESS ? '' : ` --address ${address}`;
  const program = isUnderNpm ? 'npx holdfast' : 'holdfast';
  const candidate = (value: string) =>
    isUnderNpm
      ? `npm run leader -- demo --value ${value}`
      : `${program} elect demo${flag} --value ${value} -- sh -c 'echo ${value} leads; sleep 60'`;
  return [
    '  Run a command under a lock in a second terminal, and look at the holder in a third:',
    '',
    `    ${program} lock run hello${flag} -- sleep 5`,
    `    ${program} lock get hello${flag}`,
    '',
    '  Start two candidates, each in its own terminal. Ctrl-C in one of them, and the other leads:',
    '',
    `    ${candidate('alice')}`,
    `    ${candidate('bob')}`,
  ];
}
