/** What the server knows of itself once it listens. */
export interface ServerInfo {
  /** "127.0.0.1:50051", or "unix:/path". */
  readonly listen: string;
  readonly redis: string;
  readonly version: string;
}

export interface StoreInfo {
  /** One line: what it is and where. */
  readonly description: string;
  /** Where the data is; undefined where that is not our business. */
  readonly dataFolder: string | undefined;
}

/** An address that a client of this machine can be given: a server on all addresses is reached by loopback. */
function clientAddress(listen: string): string {
  return listen.replace(/^0\.0\.0\.0:/, '127.0.0.1:').replace(/^\[::\]:/, '[::1]:');
}

/**
 * `buf curl` finds the methods by reflection, so it needs no files. Without a wait_timeout the second paste would
 * queue behind the first instead of answering.
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

/** What `npm start` prints when everything is up. */
export function banner({ listen, version }: ServerInfo, store: StoreInfo): string {
  const rows = [
    ['gRPC', `${clientAddress(listen)} (health and reflection are on)`],
    ['store', store.description],
    ...(store.dataFolder === undefined ? [] : [['data', `${store.dataFolder} (kept over restarts)`]]),
  ];
  return [
    '',
    `  Holdfast ${version}   DEVELOPMENT: one machine, no TLS, no credentials`,
    '',
    ...rows.map(([name, value]) => `  ${`${name}:`.padEnd(7)}${value}`),
    '',
    '  Take a lock, and paste it again to see it refused:',
    '',
    `    ${firstCall(listen)}`,
    '',
    '  Workers that hold and hand over a streamed lease, each in a terminal of its own:',
    '',
    '    npm run worker -- alice',
    '    npm run worker -- bob',
    '',
    '  Ctrl-C drains and stops.',
    '',
  ].join('\n');
}
