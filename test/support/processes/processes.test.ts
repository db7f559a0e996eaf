import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { Stopwatch } from '../stopwatch';
import { untilGone } from './child-program';
import { RedisProcess } from './redis-process';
import { ServerProcess } from './server-process';

describe('RedisProcess', () => {
  let redis: RedisProcess;
  beforeAll(async () => {
    redis = await RedisProcess.start();
  });
  afterAll(() => redis.close());

  it('starts with appendfsync always and maxmemory-policy noeviction', async () => {
    expect(await redis.command('CONFIG', 'GET', 'append*')).toEqual(
      expect.arrayContaining(['appendonly', 'yes', 'appendfsync', 'always']),
    );
    expect(await redis.command('CONFIG', 'GET', 'maxmemory-policy')).toEqual([
      'maxmemory-policy',
      'noeviction',
    ]);
  });

  it('keeps its data and its port over SIGKILL and a restart', async () => {
    const { port } = redis;
    await redis.command('SET', 'kept', 'yes');
    await redis.kill();
    await expect(redis.command('GET', 'kept')).rejects.toThrow();
    await redis.restart();
    expect(redis.port).toBe(port);
    expect(await redis.command('GET', 'kept')).toBe('yes');
  });

  it('answers the commands that arrived during a stop after SIGCONT', async () => {
    await redis.stop();
    let answered = false;
    const reply = redis.command('INCR', 'n').finally(() => (answered = true));
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(answered).toBe(false);
    await redis.cont();
    expect(await reply).toBe('1');
  });

  it('applies a memory limit and further arguments', async () => {
    const other = await RedisProcess.start({ maxmemory: '5mb', args: ['--databases', '3'] });
    expect(await other.command('CONFIG', 'GET', 'maxmemory')).toEqual(['maxmemory', '5242880']);
    expect(await other.command('CONFIG', 'GET', 'databases')).toEqual(['databases', '3']);
    await other.close();
  });

  it('rejects with the log of Redis when Redis ends at its start', async () => {
    await expect(RedisProcess.start({ args: ['--no-such-directive', '1'] })).rejects.toThrow(
      /no-such-directive/i,
    );
  });

  it('rejects commands after its close, and opens no new connection', async () => {
    const other = await RedisProcess.start();
    await other.close();
    await expect(other.command('PING')).rejects.toThrow('PING: this Redis is closed');
  });

  it('removes the process and the data on close', async () => {
    const other = await RedisProcess.start();
    const { pid } = other;
    const [, folder] = (await other.command('CONFIG', 'GET', 'dir')) as [string, string];
    await other.close();
    expect(existsSync(folder)).toBe(false);
    await untilGone(pid!);
  });
});

/** Much shorter than the time limit of a start, 60 s. */
const EARLY_END_MS = 10_000;

function accepts(listen: string): Promise<boolean> {
  const [host = '', port] = listen.split(':');
  return new Promise((resolve) => {
    const socket = connect(Number(port), host, () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}

describe('ServerProcess', () => {
  let redis: RedisProcess;
  beforeAll(async () => {
    redis = await RedisProcess.start({ appendfsync: 'no' });
  });
  afterAll(() => redis.close());

  it('starts the built server on a free port and reads its log', async () => {
    const server = await ServerProcess.start({ redisUrl: redis.url });
    expect(await accepts(server.listen)).toBe(true);
    expect(await server.logLine('listening', ({ msg }) => msg === 'listening')).toMatchObject({
      listen: server.listen,
      pid: server.pid,
    });
    await server.close();
    expect(await accepts(server.listen)).toBe(false);
  });

  it('ends with code 0 after SIGTERM', async () => {
    const server = await ServerProcess.start({ redisUrl: redis.url });
    expect(await server.term()).toEqual({ code: 0, signal: null });
    server.assertNoUnhandled();
    await server.close();
  });

  it('starts again at the same address after SIGKILL', async () => {
    const first = await ServerProcess.start({ redisUrl: redis.url });
    expect(await first.kill()).toMatchObject({ signal: 'SIGKILL' });
    const { listen } = first;
    const second = await ServerProcess.start({ redisUrl: redis.url, listen });
    expect(second.listen).toBe(listen);
    await Promise.all([first.close(), second.close()]);
  });

  it('rejects immediately with the output of the server if the server ends at its start', async () => {
    const stopwatch = new Stopwatch();
    const start = ServerProcess.start({ redisUrl: redis.url, env: { HOLDFAST_LISTEN: 'nowhere' } });
    await expect(start).rejects.toThrow(/ended[^]*HOLDFAST_LISTEN/);
    expect(stopwatch.chargedMs).toBeLessThan(EARLY_END_MS);
  });

  it('reports a printed unhandled rejection and a crash', async () => {
    const server = await ServerProcess.start({ redisUrl: redis.url });
    server.assertNoUnhandled();
    server.output.push('{"level":"fatal","msg":"unhandled rejection"}');
    expect(() => server.assertNoUnhandled()).toThrow(/unhandled rejection/);
    server.output.length = 0;
    await server.close();
    Object.defineProperty(server, 'exit', { value: { code: 70, signal: null } });
    expect(() => server.assertNoUnhandled()).toThrow(/ended with code 70/);
  });
});
