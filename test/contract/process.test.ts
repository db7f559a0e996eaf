import { createServer } from 'node:net';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { credentials } from '@grpc/grpc-js';
import { LockServiceClient } from '../../generated/typescript/holdfast/v1/lock_service';
import { exitCodeOfStart, isExpectedAtStart } from '../../src/main';
import { InProcessServer } from '../end-to-end/in-process-server';
import { eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import { scratchFolder } from '../support/scratch-folder';
import { Stopwatch } from '../support/stopwatch';
import { acquireRequest, call, UUID_V4 } from './harness';

/** Checks how the server process starts, refuses to start, and ends. */

const TLS = join(__dirname, 'tls');
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

/** A server in this process. */
async function startHere(env: Record<string, string>): Promise<InProcessServer> {
  const server = await InProcessServer.start(redis.url, env);
  closers.push(() => server.closeDespiteWarnings());
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

describe('the server refuses to start, and its message has no stack trace,', () => {
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
      'with a file that is not a certificate',
      1,
      { ...TLS_FILES, HOLDFAST_TLS_CERT: join(TLS, 'key.pem') },
      ['HOLDFAST_TLS_CERT and HOLDFAST_TLS_KEY cannot be used'],
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
      ['HOLDFAST_AUTH_TOKENS cannot be read', 'ENOENT'],
    ],
  ])('%s', async (_title, code, env, sentences) => {
    const error = (await startHere(env).catch((failure: unknown) => failure)) as Error;
    // The program prints the message of such an error.
    expect(isExpectedAtStart(error)).toBe(true);
    expect(exitCodeOfStart(error)).toBe(code);
    for (const sentence of sentences) expect(error.message).toContain(sentence);
    expect(error.message).not.toMatch(/^\s+at /m);
  });

  test('as a process, with a certificate file that does not exist', async () => {
    const env = { ...TLS_FILES, HOLDFAST_TLS_CERT: '/nowhere/cert.pem' };
    const error = (await start(env).catch((failure: unknown) => failure)) as Error;
    expect(error.message).toContain('{"code":1,"signal":null}');
    expect(error.message).toContain('holdfast: HOLDFAST_TLS_CERT cannot be read');
    expect(error.message).toContain('ENOENT');
    expect(error.message).not.toMatch(/^\s+at /m);
  });

  test('on a port in use', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    closers.push(() => taken.close());
    const { port } = taken.address() as { port: number };
    for (const setting of ['HOLDFAST_LISTEN', 'HOLDFAST_ADMIN_LISTEN']) {
      await expect(startHere({ [setting]: `127.0.0.1:${port}` })).rejects.toThrow(
        `cannot listen on 127.0.0.1:${port}: another program already listens there (${setting})`,
      );
    }
  });
});

test('a server warns and serves without an admin port while its default address is in use', async () => {
  // If another program has the port already, that is the same to the server.
  const taken = createServer()
    .on('error', () => undefined)
    .listen(50_052, '127.0.0.1');
  await Promise.race([once(taken, 'listening'), once(taken, 'error')]);
  closers.push(() => taken.close());
  const server = await startHere({ HOLDFAST_ADMIN_LISTEN: '' });
  const client = connect(server.address);
  expect((await call(client, client.acquireLock, acquireRequest({ name: 'lock' }))).lease?.name).toBe('lock');
  expect(server.warnings.filter(({ msg }) => String(msg).includes('HOLDFAST_ADMIN_LISTEN'))).toEqual([
    expect.objectContaining({
      msg: 'cannot listen on 127.0.0.1:50052: another program already listens there: this server has no admin port (HOLDFAST_ADMIN_LISTEN)',
    }),
  ]);
  expect(server.adminAddress).toBeUndefined();
});

test('a server serves TLS clients that trust its certificate, and refuses plaintext clients', async () => {
  const server = await startHere(TLS_FILES);
  const named = server.address.replace('127.0.0.1', 'localhost');
  const trusting = connect(named, credentials.createSsl(readFileSync(join(TLS, 'cert.pem'))));
  const { lease } = await call(trusting, trusting.acquireLock, acquireRequest({ name: 'tls' }));
  expect(lease?.name).toBe('tls');
  const plain = connect(server.address);
  const attempt = call(plain, plain.acquireLock, acquireRequest(), { deadline: Date.now() + 30_000 });
  await expect(attempt).rejects.toThrow(/UNAVAILABLE/);
});

test('a server logs a warning for each protection that HOLDFAST_INSECURE turns off', async () => {
  const server = await startHere({ HOLDFAST_LISTEN: '0.0.0.0:0', HOLDFAST_INSECURE: 'tls,auth' });
  const warnings = server.warnings.filter(({ msg }) => String(msg).startsWith('INSECURE:'));
  expect(warnings.map(({ msg }) => msg)).toEqual([
    expect.stringContaining('it has no TLS (HOLDFAST_INSECURE=tls)'),
    expect.stringContaining('every caller may do everything (HOLDFAST_INSECURE=auth)'),
  ]);
});

describe('the server process', () => {
  /** The last renewal of a drain waits 20 s for a Redis that does not answer. */
  const slowRenewal = { HOLDFAST_COMMAND_TIMEOUT: '20s' };

  test.each(['SIGTERM', 'SIGINT'] as const)(
    'drains a Unix socket and exits with code 0 on %s',
    async (signal) => {
      const socket = join(scratchFolder(), 'h.sock');
      const server = await start({}, `unix:${socket}`);
      const ended = await hold(server, `first ${signal}`);
      server.signal(signal);
      const exit = await eventually('the exit', () => server.exit);
      expect(exit).toEqual({ code: 0, signal: null });
      expect(existsSync(socket)).toBe(false);
      expect(ended()).toBe(true);
      expect(server.logs.slice(-2)).toMatchObject([{ msg: 'draining', signal }, { msg: 'stopped' }]);
      server.assertNoUnhandled();
    },
  );

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
    const server = await start(slowRenewal);
    const ended = await hold(server, 'ctrl-c');
    await redis.stop();
    server.signal('SIGINT');
    // So short that the second signal comes during the drain, and is the same Ctrl-C.
    await sleep(50);
    server.signal('SIGINT');
    await server.logLine('the drain', ({ msg }) => msg === 'draining');
    await redis.cont();
    const exit = await eventually('the exit', () => server.exit);
    expect(exit).toEqual({ code: 0, signal: null });
    expect(ended()).toBe(true);
    expect(server.logs.slice(-2)).toMatchObject([{ msg: 'draining', signal: 'SIGINT' }, { msg: 'stopped' }]);
    server.assertNoUnhandled();
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
