import { createServer } from 'node:net';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { LockServiceClient } from '../../generated/typescript/holdfast/v1/lock_service';
import { eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import { acquireRequest, call, UUID_V4 } from './harness';
import { Stopwatch } from '../support/stopwatch';
import { scratchFolder } from '../support/scratch-folder';

/** Checks how the server process starts, refuses to start, and ends. */

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

/** Holds a lock by a stream. Returns a function that tells whether the stream has ended. */
async function hold(server: ServerProcess, name: string): Promise<() => boolean> {
  const stream = connect(server.listen).holdLock({
    start: { $case: 'acquire', value: acquireRequest({ name, requestId: UUID_V4 }) },
  });
  let ended = false;
  stream.on('error', () => (ended = true));
  await once(stream, 'data');
  return () => ended;
}

describe('the server process refuses to start, and prints the reason without a stack trace,', () => {
  test.each<readonly [string, number, Record<string, string>, readonly string[]]>([
    [
      'with wrong settings',
      64,
      { HOLDFAST_MAX_WAITERS: 'many', HOLDFAST_LOG_LEVEL: 'loud', HOLDFAST_REDIS_PREFXI: 'x' },
      [
        'HOLDFAST_MAX_WAITERS must be',
        'HOLDFAST_LOG_LEVEL must be',
        'HOLDFAST_REDIS_PREFXI is not a setting',
      ],
    ],
    [
      'with a certificate file that does not exist',
      1,
      { ...TLS_FILES, HOLDFAST_TLS_CERT: '/nowhere/cert.pem' },
      ['holdfast: HOLDFAST_TLS_CERT cannot be read', 'ENOENT'],
    ],
    [
      'with a file that is not a certificate',
      1,
      { ...TLS_FILES, HOLDFAST_TLS_CERT: join(TLS, 'key.pem') },
      ['holdfast: HOLDFAST_TLS_CERT and HOLDFAST_TLS_KEY cannot be used'],
    ],
    [
      'on an address that other machines can reach, without TLS and without credentials',
      64,
      { HOLDFAST_LISTEN: '0.0.0.0:0' },
      ['but the server has no TLS', 'but every caller is let in'],
    ],
    [
      'with a token file that does not exist',
      1,
      { HOLDFAST_AUTH_TOKENS: '/nowhere/tokens' },
      ['holdfast: HOLDFAST_AUTH_TOKENS cannot be read', 'ENOENT'],
    ],
  ])('%s', async (_title, code, env, sentences) => {
    const error = (await start(env).catch((failure: unknown) => failure)) as Error;
    expect(error.message).toContain(`{"code":${code},"signal":null}`);
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
    await expect(start({ HOLDFAST_ADMIN_LISTEN: `127.0.0.1:${port}` })).rejects.toThrow(
      `cannot listen on 127.0.0.1:${port}: another program already listens there (HOLDFAST_ADMIN_LISTEN)`,
    );
  });
});

test('the server process warns and serves without an admin port while its default address is in use', async () => {
  // If another program has the port already, that is the same to the server.
  const taken = createServer()
    .on('error', () => undefined)
    .listen(50_052, '127.0.0.1');
  await Promise.race([once(taken, 'listening'), once(taken, 'error')]);
  closers.push(() => taken.close());
  const server = await start({ HOLDFAST_ADMIN_LISTEN: '' });
  const client = connect(server.listen);
  expect((await call(client, client.acquireLock, acquireRequest({ name: 'lock' }))).lease?.name).toBe('lock');
  const lines = server.logs.filter(
    ({ msg }) => msg?.includes('HOLDFAST_ADMIN_LISTEN') || msg === 'listening',
  );
  expect(lines).toEqual([
    expect.objectContaining({
      level: 'warn',
      msg: 'cannot listen on 127.0.0.1:50052: another program already listens there: this server has no admin port (HOLDFAST_ADMIN_LISTEN)',
    }),
    expect.not.objectContaining({ admin: expect.anything() as unknown }),
  ]);
});

test('the server process serves TLS clients that trust its certificate, and refuses plaintext clients', async () => {
  const server = await start(TLS_FILES);
  const named = server.listen.replace('127.0.0.1', 'localhost');
  const trusting = connect(named, credentials.createSsl(readFileSync(join(TLS, 'cert.pem'))));
  const { lease } = await call(trusting, trusting.acquireLock, acquireRequest({ name: 'tls' }));
  expect(lease?.name).toBe('tls');
  const plain = connect(server.listen);
  const attempt = call(plain, plain.acquireLock, acquireRequest(), { deadline: Date.now() + 2000 });
  await expect(attempt).rejects.toThrow(/UNAVAILABLE|DEADLINE_EXCEEDED/);
});

test('the server process logs a warning for each protection that HOLDFAST_INSECURE turns off', async () => {
  const server = await start({ HOLDFAST_LISTEN: '0.0.0.0:0', HOLDFAST_INSECURE: 'tls,auth' });
  const warnings = server.logs.filter(({ msg }) => msg?.startsWith('INSECURE:'));
  expect(warnings.map(({ level, msg }) => [level, msg])).toEqual([
    ['warn', expect.stringContaining('it has no TLS (HOLDFAST_INSECURE=tls)')],
    ['warn', expect.stringContaining('every caller may do everything (HOLDFAST_INSECURE=auth)')],
  ]);
});

test('the server process serves a Unix socket', async () => {
  const folder = scratchFolder();
  const server = await start({}, `unix:${join(folder, 'h.sock')}`);
  const client = connect(server.listen);
  const { lease } = await call(client, client.acquireLock, acquireRequest({ name: 'socket' }));
  expect(lease?.name).toBe('socket');
  expect(await server.term()).toEqual({ code: 0, signal: null });
  expect(existsSync(join(folder, 'h.sock'))).toBe(false);
});

describe('the server process', () => {
  /** The last renewal of a drain waits 20 s for a Redis that does not answer. */
  const slowRenewal = { HOLDFAST_COMMAND_TIMEOUT: '20s' };

  test.each(['SIGTERM', 'SIGINT'] as const)('drains and exits with code 0 on %s', async (signal) => {
    const server = await start();
    const ended = await hold(server, signal);
    server.signal(signal);
    const exit = await eventually('the exit', () => server.exit);
    expect(exit).toEqual({ code: 0, signal: null });
    expect(ended()).toBe(true);
    expect(server.logs.slice(-2)).toMatchObject([{ msg: 'draining', signal }, { msg: 'stopped' }]);
    server.assertNoUnhandled();
  });

  test('exits immediately with code 143 on a second SIGTERM', async () => {
    const server = await start(slowRenewal);
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

  test('drains and exits with code 0 on two SIGINT, because npm repeats the SIGINT of the terminal', async () => {
    const server = await start();
    await hold(server, 'ctrl-c');
    server.signal('SIGINT');
    server.signal('SIGINT');
    const exit = await eventually('the exit', () => server.exit);
    expect(exit).toEqual({ code: 0, signal: null });
  });

  test('exits with code 0 after the drain timeout when a renewal gets no reply', async () => {
    const server = await start({ ...slowRenewal, HOLDFAST_DRAIN_TIMEOUT: '1s' });
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
