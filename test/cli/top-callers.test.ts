import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { duration } from '../../clients/typescript';
import {
  AcquireLockRequest,
  GetLockRequest,
  LockServiceService,
} from '../../generated/typescript/holdfast/v1/lock_service';
import { tokenDigest } from '../../src/access/credentials';
import { frame } from '../contract/raw-call';
import { CliProcess } from '../support/cli/cli-process';
import { runProgram } from '../support/cli/run-program';
import { closeAll, eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import { scratchFolder } from '../support/scratch-folder';

/** An operator finds who floods a real server, with the program `holdfast`. */

let redis: RedisProcess;
let server: ServerProcess;
let tokenFile: string;
const sessions: ClientHttp2Session[] = [];

beforeAll(async () => {
  redis = await RedisProcess.start({ appendfsync: 'no' });
  const folder = scratchFolder();
  const line = (name: string): string => `${name} sha256:${tokenDigest(`secret-of-${name}`)}\n`;
  writeFileSync(join(folder, 'tokens'), ['ops', 'noisy', 'patient'].map(line).join(''));
  tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, 'secret-of-ops\n');
  server = await ServerProcess.start({
    redisUrl: redis.url,
    env: { HOLDFAST_AUTH_TOKENS: join(folder, 'tokens') },
  });
});
afterAll(() =>
  closeAll(
    () => sessions.forEach((session) => session.destroy()),
    () => server?.close(),
    () => redis?.close(),
  ),
);

/** Sends calls of one caller from an address of this machine. */
async function callerFrom(name: string, localAddress: string) {
  const [host, port] = server.listen.split(':') as [string, string];
  const socket = connectTcp({ host, port: Number(port), localAddress });
  await once(socket, 'connect');
  const session = connectHttp2(`http://${server.listen}`, {
    createConnection: () => socket,
    maxSessionMemory: 1000,
  });
  session.on('error', () => undefined);
  sessions.push(session);
  return (path: string, body: Buffer, more: Readonly<Record<string, string>> = {}): Promise<void> =>
    new Promise((resolve) => {
      const headers = {
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
      };
      const stream = session.request({ ...headers, authorization: `Bearer secret-of-${name}`, ...more });
      stream
        .on('error', () => undefined)
        .on('close', resolve)
        .resume();
      stream.end(body);
    });
}

const GET_LOCK = frame(GetLockRequest.encode({ name: 'x' }).finish());

interface Shown {
  readonly caller: { readonly identity?: string; readonly address?: string } & Record<string, unknown>;
}

async function top(by: string): Promise<readonly Shown[]> {
  const args = ['top', '--callers', '--by', by, '-o', 'json', '-a', server.listen, '--token-file', tokenFile];
  const cli = new CliProcess([...args, '--timeout', '30s']);
  const { code } = await cli.ended();
  if (code !== 0) throw new Error(cli.stderr);
  return JSON.parse(cli.stdout) as Shown[];
}

test('top --callers finds the caller that floods, and the audit log names it', async () => {
  const send = await callerFrom('noisy', '127.0.0.2');
  let isOver = false;
  const flood = async (): Promise<void> => {
    // The server refuses a call that would wait for longer than its time limit.
    while (!isOver) await send(LockServiceService.getLock.path, GET_LOCK, { 'grpc-timeout': '100m' });
  };
  const floods = Array.from({ length: 6000 }, flood);
  try {
    const first = await eventually(
      'the flooder',
      async () => {
        const [row] = await top('refusals');
        return row?.caller.identity === 'token:noisy' && row;
      },
      { timeoutMs: 60_000 },
    );
    expect(first.caller).toMatchObject({
      address: '127.0.0.2',
      lastRefusalReason: 'ERROR_REASON_OVERLOADED',
      age: expect.stringMatching(/^[\d.]+s$/) as string,
    });
    expect(Number(first.caller['recentRefusalCount'])).toBeGreaterThan(0);
    const line = await eventually('the audit line', () =>
      server.logs.find(({ outcome }) => outcome === 'OVERLOADED'),
    );
    expect(line).toMatchObject({ audit: true, identity: 'token:noisy', action: 'refused' });
    expect(String(line['peer'])).toMatch(/^127\.0\.0\.2:\d+$/);
  } finally {
    isOver = true;
    await Promise.all(floods);
  }
}, 180_000);

test('top --callers --by waits finds the caller that waits, and shows leases, waits and connections', async () => {
  const send = await callerFrom('patient', '127.0.0.3');
  const acquire = (): Promise<void> => {
    const fields = {
      name: 'taken',
      requestId: randomUUID(),
      ttl: duration(60_000),
      waitTimeout: duration(60_000),
    };
    const request = AcquireLockRequest.encode(AcquireLockRequest.create(fields)).finish();
    return send(LockServiceService.acquireLock.path, frame(request));
  };
  await acquire();
  for (let count = 0; count < 5; count += 1) void acquire();
  const first = await eventually('the waiters', async () => {
    const [row] = await top('waits');
    return row?.caller['waiterCount'] === 5 && row;
  });
  expect(first.caller).toMatchObject({
    identity: 'token:patient',
    address: '127.0.0.3',
    callCount: '6',
    leaseCount: 1,
    connectionCount: 1,
  });
});

test('top --callers draws a table with a row for each caller', async () => {
  const args = ['top', '--callers', '--once', '-a', server.listen, '--token-file', tokenFile];
  const { out, err, code } = await runProgram([...args, '--timeout', '30s']);
  expect(code).toBe(0);
  expect(err).toMatch(/^holdfast: RECENT and REFUSED are of the last \d[\dms.]*\n$/);
  const [titles, ...rows] = out.split('\n');
  expect(titles?.split(/ {2,}/)).toEqual([
    ...['IDENTITY', 'ADDRESS', 'RECENT', 'REFUSED', 'CALLS', 'LEASES', 'WAITS', 'STREAMS', 'LAST REFUSAL'],
  ]);
  expect(rows.some((row) => /^token:noisy +127\.0\.0\.2 .* OVERLOADED/.test(row))).toBe(true);
});

test.each([
  [['--callers', 'prefix/'], 'takes no prefix'],
  [['--by', 'calls'], '--by needs --callers'],
  [['--callers', '--by', 'names'], 'Allowed choices are calls, refusals, leases, waits'],
])('top refuses %j', async (args, problem) => {
  const { code, err } = await runProgram(['top', ...args, '-a', server.listen, '--token-file', tokenFile]);
  expect(err).toContain(problem);
  expect(code).toBe(64);
});

test('top --callers ends with 77 for a caller who may not list callers', async () => {
  expect(await runProgram(['top', '--callers', '-a', server.listen])).toMatchObject({ code: 77, out: '' });
});
