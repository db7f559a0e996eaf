import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { logVerbosity, setLogVerbosity } from '@grpc/grpc-js';
import { ListenError } from '../../src/transport/grpc/listen';
import { acquireRequest, call, Harness } from './harness';

// grpc-js would say on the console, too, what the tests provoke.
setLogVerbosity(logVerbosity.NONE);

let folder: string;
let path: string;
const open: Harness[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-listen-'));
  path = join(folder, 'h.sock');
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((harness) => harness.close()));
  rmSync(folder, { recursive: true });
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

test.each(['127.0.0.1', 'localhost', '::1'])('port 0 of %s is a free one, which is told', async (host) => {
  const harness = await listen({ address: { kind: 'tcp', host, port: 0 } });
  expect(harness.target).toMatch(host === '::1' ? /^\[::1\]:[1-9]\d*$/ : /^[\w.]+:[1-9]\d*$/);
  expect(await serves(harness)).toBe(true);
});

test('a port that is taken is refused in a plain sentence', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as { port: number };
  const attempt = listen({ address: { kind: 'tcp', host: '127.0.0.1', port } });
  await expect(attempt).rejects.toThrow(
    `cannot listen on 127.0.0.1:${port}: another program listens there already`,
  );
  taken.close();
});

test('an address of another machine is refused', async () => {
  const attempt = listen({ address: { kind: 'tcp', host: '192.0.2.1', port: 0 } });
  await expect(attempt).rejects.toThrow('this machine has no such address');
});

describe('a Unix socket', () => {
  test('serves, tells connections apart, and is gone afterwards', async () => {
    const harness = await listen({ address: { kind: 'unix', path } });
    expect(harness.target).toBe(`unix:${path}`);
    const connections: object[] = [];
    const answer = harness.engine.onAcquire;
    harness.engine.onAcquire = (given, request) => {
      connections.push(given.connection);
      return answer(given, request);
    };
    await serves(harness);
    await serves(harness);
    expect(connections[0]).not.toBe(connections[1]);
    await harness.close();
    expect(existsSync(path)).toBe(false);
  });

  test('that a dead server has left is taken over', async () => {
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

  test('that somebody listens on is left alone', async () => {
    const first = await listen({ address: { kind: 'unix', path } });
    await expect(listen({ address: { kind: 'unix', path } })).rejects.toThrow('listens there already');
    expect(await serves(first)).toBe(true);
  });

  test('is never put in the place of a file', async () => {
    writeFileSync(path, 'precious');
    await expect(listen({ address: { kind: 'unix', path } })).rejects.toThrow('a file that is no socket');
    expect(existsSync(path)).toBe(true);
  });

  test('in a folder that is not there is refused', async () => {
    const nowhere = join(folder, 'no', 'h.sock');
    await expect(listen({ address: { kind: 'unix', path: nowhere } })).rejects.toThrow(ListenError);
  });
});
