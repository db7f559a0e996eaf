import { createServer } from 'node:net';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { LockServiceClient } from '../../generated/typescript/holdfast/v1/lock_service';
import { eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import { acquireRequest, call, UUID_V4 } from './harness';
import { Stopwatch } from '../support/stopwatch';
import { makeScratchFolder } from '../support/processes/scratch-folder';

/** The server as a process: start, refusal to start, end. */

const TLS = [join(__dirname, 'tls'), join(__dirname, '../../../test/contract/tls')].find(existsSync)!;
const TLS_FILES = { HOLDFAST_TLS_CERT: join(TLS, 'cert.pem'), HOLDFAST_TLS_KEY: join(TLS, 'key.pem') };

let redis: RedisProcess;
const closers: (() => unknown)[] = [];
beforeAll(async () => {
  redis = await RedisProcess.start({ appendfsync: 'no' });
});
afterEach(async () => {
  await redis.cont();
  for (const close of closers.splice(0)) await close();
});
afterAll(() => redis.close());

async function start(env: Record<string, string> = {}, listen?: string): Promise<ServerProcess> {
  const server = await ServerProcess.start({ redisUrl: redis.url, env, ...(listen && { listen }) });
  closers.push(() => server.close());
  return server;
}

function connect(target: string, channel = credentials.createInsecure()): LockServiceClient {
  const client = new LockServiceClient(target, channel);
  closers.push(() => client.close());
  return client;
}

/** Holds a lock by a stream. The returned function says whether the stream has ended. */
async function hold(server: ServerProcess, name: string): Promise<() => boolean> {
  const stream = connect(server.listen).holdLock({
    start: { $case: 'acquire', value: acquireRequest({ name, requestId: UUID_V4 }) },
  });
  let ended = false;
  stream.on('error', () => (ended = true));
  await once(stream, 'data');
  return () => ended;
}

describe('refuses to start with one sentence', () => {
  test.each<readonly [string, Record<string, string>, readonly string[]]>([
    [
      'that names every wrong setting',
      { HOLDFAST_MAX_WAITERS: 'many', HOLDFAST_LOG_LEVEL: 'loud', HOLDFAST_REDIS_PREFXI: 'x' },
      [
        'HOLDFAST_MAX_WAITERS must be',
        'HOLDFAST_LOG_LEVEL must be',
        'HOLDFAST_REDIS_PREFXI is not a setting',
      ],
    ],
    [
      'without its certificate file',
      { ...TLS_FILES, HOLDFAST_TLS_CERT: '/nowhere/cert.pem' },
      ['holdfast: HOLDFAST_TLS_CERT cannot be read', 'ENOENT'],
    ],
    [
      'with a file that is not a certificate',
      { ...TLS_FILES, HOLDFAST_TLS_CERT: join(TLS, 'key.pem') },
      ['holdfast: HOLDFAST_TLS_CERT and HOLDFAST_TLS_KEY cannot be used'],
    ],
  ])('%s', async (_title, env, sentences) => {
    const error = (await start(env).catch((failure: unknown) => failure)) as Error;
    expect(error.message).toContain('{"code":1,"signal":null}');
    for (const sentence of sentences) expect(error.message).toContain(sentence);
    expect(error.message).not.toMatch(/^\s+at /m);
  });

  test('on a port in use', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    closers.push(() => taken.close());
    const { port } = taken.address() as { port: number };
    await expect(start({}, `127.0.0.1:${port}`)).rejects.toThrow(
      `cannot listen on 127.0.0.1:${port}: another program already listens there (HOLDFAST_LISTEN)`,
    );
  });
});

test('serves TLS clients that trust its certificate, and refuses plaintext clients', async () => {
  const server = await start(TLS_FILES);
  const named = server.listen.replace('127.0.0.1', 'localhost');
  const trusting = connect(named, credentials.createSsl(readFileSync(join(TLS, 'cert.pem'))));
  const { lease } = await call(trusting, trusting.acquireLock, acquireRequest({ name: 'tls' }));
  expect(lease?.name).toBe('tls');
  const plain = connect(server.listen);
  const attempt = call(plain, plain.acquireLock, acquireRequest(), { deadline: Date.now() + 2000 });
  await expect(attempt).rejects.toThrow(/UNAVAILABLE|DEADLINE_EXCEEDED/);
});

test('serves a Unix socket', async () => {
  const folder = makeScratchFolder('process');
  closers.push(() => rmSync(folder, { recursive: true }));
  const server = await start({}, `unix:${join(folder, 'h.sock')}`);
  const client = connect(server.listen);
  const { lease } = await call(client, client.acquireLock, acquireRequest({ name: 'socket' }));
  expect(lease?.name).toBe('socket');
  expect(await server.term()).toEqual({ code: 0, signal: null });
  expect(existsSync(join(folder, 'h.sock'))).toBe(false);
});

describe('ends', () => {
  /** The last renewal takes long: Redis does not answer. */
  const slow = { HOLDFAST_COMMAND_TIMEOUT: '20s' };

  test.each(['SIGTERM', 'SIGINT'] as const)('in order on %s', async (signal) => {
    const server = await start();
    const ended = await hold(server, signal);
    server.signal(signal);
    const exit = await eventually('the exit', () => server.exit);
    expect(exit).toEqual({ code: 0, signal: null });
    expect(ended()).toBe(true);
    expect(server.logs.map(({ msg }) => msg).slice(-2)).toEqual(['draining', 'stopped']);
    server.assertNoUnhandled();
  });

  test('at once on a second SIGTERM', async () => {
    const server = await start(slow);
    await hold(server, 'second');
    await redis.stop();
    server.signal('SIGTERM');
    await server.logLine('the drain', ({ msg }) => msg === 'draining');
    const stopwatch = new Stopwatch();
    server.signal('SIGTERM');
    const exit = await eventually('the exit', () => server.exit);
    expect(stopwatch.chargedMs).toBeLessThan(1000);
    expect(exit).toEqual({ code: 143, signal: null });
  });

  test('in order on two SIGINT, as the terminal and npm send them for one Ctrl-C', async () => {
    const server = await start();
    await hold(server, 'ctrl-c');
    server.signal('SIGINT');
    server.signal('SIGINT');
    const exit = await eventually('the exit', () => server.exit);
    expect(exit).toEqual({ code: 0, signal: null });
  });

  test('after the drain timeout when a renewal hangs', async () => {
    const server = await start({ ...slow, HOLDFAST_DRAIN_TIMEOUT: '1s' });
    const ended = await hold(server, 'overdue');
    await redis.stop();
    const stopwatch = new Stopwatch();
    server.signal('SIGTERM');
    const exit = await eventually('the exit', () => server.exit);
    expect(stopwatch.chargedMs).toBeLessThan(4000);
    expect(exit).toEqual({ code: 0, signal: null });
    await eventually('the stream to end', ended);
    expect(server.logs.some(({ msg }) => msg?.includes('still open after the drain timeout'))).toBe(true);
  });
});
