import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { LockClient } from '../support/clients/lease-client';
import { eventually } from '../support/eventually';
import { sayNotChecked } from '../support/not-checked';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { scratchFolder } from '../support/scratch-folder';
import type { BuiltProgram } from '../support/toolchains';
import { goClient, javaClient, pythonClient } from './toolchains';

/**
 * The gRPC libraries of other languages behind a link that freezes. The client opens a stream that holds a lock, a
 * stream that waits, and a unary call that waits. Then the server misses the answer to a ping. A missing toolchain is
 * reported on stderr as "not checked".
 */

const run = promisify(execFile);
/** The first build downloads packages and compiles gRPC. */
const BUILD_TIMEOUT_MS = 300_000;
const KEEPALIVE_MS = 500;
/** The server closes the connection within a second after a ping was missed. */
const CLOSED_MS = 2 * KEEPALIVE_MS + 1500;

let redis: RedisProcess;
let server: ServerProcess;
let direct: LockClient;

beforeAll(async () => {
  redis = await RedisProcess.start();
  const time = `${KEEPALIVE_MS}ms`;
  const env = { HOLDFAST_KEEPALIVE_TIME: time, HOLDFAST_KEEPALIVE_TIMEOUT: time };
  server = await ServerProcess.start({ redisUrl: redis.url, env });
  direct = new LockClient(server.listen);
});

afterAll(async () => {
  direct?.close();
  await server?.close();
  await redis?.close();
});

const REATTACH =
  'UNAVAILABLE REATTACH | the connection left an HTTP/2 ping unanswered for 500 ms: a lease or a wait continues; open the stream again [REATTACH]';
const STATUSES = [
  `holder: ${REATTACH}`,
  expect.stringMatching(/^unary: UNAVAILABLE none \| the connection left an HTTP\/2 ping unanswered/),
  `waiter: ${REATTACH}`,
];

interface Freeze {
  readonly title: string;
  act(proxy: TcpProxy): Promise<void>;
  /** The lines of the client, sorted. */
  readonly ends: readonly unknown[];
}

const FREEZES: readonly Freeze[] = [
  {
    title: 'only to the server',
    act: (proxy) => Promise.resolve(proxy.blackHole('toTarget')),
    ends: STATUSES,
  },
  {
    title: 'in both directions, and thaws after the server has closed the connection',
    act: async (proxy) => {
      proxy.blackHole('both');
      await sleep(CLOSED_MS);
      proxy.passEverything();
    },
    ends: STATUSES,
  },
  {
    title: 'in both directions, and is then reset',
    act: async (proxy) => {
      proxy.blackHole('both');
      await sleep(CLOSED_MS);
      proxy.cutAll();
    },
    ends: ['holder', 'unary', 'waiter'].map((call): unknown =>
      expect.stringMatching(new RegExp(`^${call}: UNAVAILABLE none \\| `)),
    ),
  },
];

const CLIENTS: readonly [string, () => Promise<BuiltProgram>][] = [
  ['Go', () => goClient(scratchFolder())],
  ['Java', javaClient],
  ['Python', pythonClient],
];

describe.each(CLIENTS)('a client in %s', (language, build) => {
  let client: BuiltProgram;
  beforeAll(async () => {
    client = await build();
  }, BUILD_TIMEOUT_MS);

  test.each(FREEZES)(
    'reports UNAVAILABLE for all calls if the link freezes $title',
    async ({ act, ends }) => {
      if ('missing' in client) return sayNotChecked(`a frozen link in ${language}`, client.missing);
      const [program, ...args] = client.command;
      const env = { ...process.env, ...client.env };
      const proxy = await TcpProxy.open({ targetPort: Number(server.listen.split(':')[1]), protocol: 'tcp' });
      const name = `${language}-${randomUUID()}`;
      const ids = [randomUUID(), randomUUID()];
      const ended = run(program, [...args, 'frozen', proxy.address, name, ...ids], { env, timeout: 60_000 });
      const busy = async (): Promise<boolean> => (await direct.get(name))?.waiterCount === 2;
      await eventually('all calls to be open', busy);
      await act(proxy);
      const { stdout } = await ended;
      await proxy.close();
      expect(stdout.trim().split('\n').sort()).toEqual(ends);
    },
  );
});
