import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { logVerbosity, setLogVerbosity } from '@grpc/grpc-js';
import { ListenError } from '../../src/rpc/entry/grpc-js';
import { someLease } from './fake-engines';
import { acquireRequest, call, Harness } from './harness';
import { scratchFolder } from '../support/scratch-folder';

// Without this setting grpc-js prints the expected errors on the console.
setLogVerbosity(logVerbosity.NONE);

let folder: string;
let path: string;
const open: Harness[] = [];
beforeEach(() => {
  folder = scratchFolder();
  path = join(folder, 'h.sock');
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((harness) => harness.close()));
});

async function listen(address: Parameters<typeof Harness.start>[0]): Promise<Harness> {
  const harness = await Harness.start(address);
  open.push(harness);
  return harness;
}

async function serves(harness: Harness): Promise<boolean> {
  const client = harness.locks();
  const { lease } = await call(client, client.acquireLock, acquireRequest());
  return lease?.name === 'hello';
}

test.each(['127.0.0.1', 'localhost', '::1'])(
  'the server listens on a free port of %s, and returns the port number',
  async (host) => {
    const harness = await listen({ address: { kind: 'tcp', host, port: 0 } });
    expect(harness.target).toMatch(host === '::1' ? /^\[::1\]:[1-9]\d*$/ : /^[\w.]+:[1-9]\d*$/);
    expect(await serves(harness)).toBe(true);
  },
);

test('the server refuses a port in use with a plain sentence', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as { port: number };
  const attempt = listen({ address: { kind: 'tcp', host: '127.0.0.1', port } });
  await expect(attempt).rejects.toThrow(
    `cannot listen on 127.0.0.1:${port}: another program already listens there`,
  );
  taken.close();
});

test('the server refuses an address of another machine', async () => {
  const attempt = listen({ address: { kind: 'tcp', host: '192.0.2.1', port: 0 } });
  await expect(attempt).rejects.toThrow('this machine has no such address');
});

describe('a server on a Unix socket', () => {
  test('has a connection object for each client, and removes the socket file when the server closes', async () => {
    const harness = await listen({ address: { kind: 'unix', path } });
    expect(harness.target).toBe(`unix:${path}`);
    const connections: object[] = [];
    harness.permits.answers.acquire = (given) => {
      connections.push(given.connection);
      return Promise.resolve(someLease);
    };
    await serves(harness);
    await serves(harness);
    expect(connections[0]).not.toBe(connections[1]);
    await harness.close();
    expect(existsSync(path)).toBe(false);
  });

  test('replaces the socket file of a killed server', async () => {
    const child = fork(
      '-e',
      [`require('net').createServer().listen(${JSON.stringify(path)}, () => process.send(1))`],
      {
        execArgv: [],
        stdio: 'ignore',
      },
    );
    await once(child, 'message');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(existsSync(path)).toBe(true);
    expect(await serves(await listen({ address: { kind: 'unix', path } }))).toBe(true);
  });

  test('does not replace a socket file with a listener', async () => {
    const first = await listen({ address: { kind: 'unix', path } });
    await expect(listen({ address: { kind: 'unix', path } })).rejects.toThrow('already listens there');
    expect(await serves(first)).toBe(true);
  });

  test('does not replace a file that is not a socket', async () => {
    writeFileSync(path, 'precious');
    await expect(listen({ address: { kind: 'unix', path } })).rejects.toThrow('a file that is not a socket');
    expect(existsSync(path)).toBe(true);
  });

  test('does not start in a folder that does not exist', async () => {
    const nowhere = join(folder, 'no', 'h.sock');
    await expect(listen({ address: { kind: 'unix', path: nowhere } })).rejects.toThrow(ListenError);
  });
});
