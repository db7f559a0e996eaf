import { connect } from 'node:net';
import { Stopwatch } from '../stopwatch';
import { RedisProcess } from './redis-process';
import { ServerProcess } from './server-process';

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
