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

/**
 * The command for a first call. `buf curl` finds the methods by reflection, so no proto files are needed. With
 * `wait_timeout` 0 a second call is refused immediately and does not wait.
 */
function firstCall(listen: string): string {
  const data = '{"name":"hello","holder_id":"alice","ttl":"30s","wait_timeout":"0s"}';
  const method = 'holdfast.v1.LockService/AcquireLock';
  const socket = /^unix:(.+)$/.exec(listen)?.[1];
  const where =
    socket === undefined
      ? `http://${clientAddress(listen)}/${method}`
      : `--unix-socket '${socket}' http://localhost/${method}`;
  return `npx buf curl --protocol grpc --data '${data}' ${where}`;
}

/** The text that `npm start` prints when the server is ready. */
export function banner(server: ServerInfo, store: StoreInfo): string {
  const { listen, version, tls = false, authentication = false } = server;
  const protection = `${tls ? 'TLS' : 'no TLS'}, ${authentication ? 'credentials required' : 'no credentials'}`;
  const rows = [
    ['gRPC', `${clientAddress(listen)} (health and reflection are on)`],
    ['store', store.description],
    ...(store.dataFolder === undefined ? [] : [['data', `${store.dataFolder} (kept across restarts)`]]),
  ];
  return [
    '',
    `  Holdfast ${version}   DEVELOPMENT: one machine, ${protection}`,
    '',
    ...rows.map(([name, value]) => `  ${`${name}:`.padEnd(7)}${value}`),
    '',
    '  Acquire a lock. Run the command again within 30 s to see it refused:',
    '',
    `    ${firstCall(listen)}`,
    '',
    '  Start two candidates, each in its own terminal. Ctrl-C in one of them, and the other leads:',
    '',
    '    npm run leader -- demo --value alice',
    '    npm run leader -- demo --value bob',
    '',
    '  Ctrl-C drains and stops the server.',
    '',
  ].join('\n');
}
