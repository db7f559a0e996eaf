import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { eventually } from '../eventually';
import { ROOT } from '../root';
import { scratchFolder } from '../scratch-folder';
import { Stopwatch } from '../stopwatch';
import { ChildProgram, inheritedEnvironment, isAlive, untilGone } from './child-program';
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

describe('ChildProgram', () => {
  const IDLE = 'setInterval(() => {}, 1000)';
  const BUILT = join(ROOT, 'dist', 'test', 'support', 'processes', 'child-program.js');

  /** Starts a process that starts a program, and prints the process id of the program. */
  async function startParent(
    env: NodeJS.ProcessEnv,
    removeAtEnd: string,
  ): Promise<{ parent: ChildProcess; child: number }> {
    const options = { label: 'idle', args: ['-e', IDLE], removeAtEnd };
    const program = `
      const { ChildProgram } = require(${JSON.stringify(BUILT)});
      const child = new ChildProgram(${JSON.stringify(options)});
      child.start().then(() => console.log(child.pid));
      ${IDLE};
    `;
    const parent = spawn(process.execPath, ['-e', program], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    return { parent, child: Number(line.toString()) };
  }

  it.each([
    ['a worker of the test run', () => process.env],
    ['a process without a test run', inheritedEnvironment],
  ])('ends and its folder is removed when %s is killed, but not while that is stopped', async (_, env) => {
    const folder = join(scratchFolder(), 'of the program');
    mkdirSync(folder);
    const { parent, child } = await startParent(env(), folder);
    parent.kill('SIGSTOP');
    await new Promise((done) => setTimeout(done, 300));
    expect(isAlive(child)).toBe(true);
    parent.kill('SIGKILL');
    await untilGone(child);
    await eventually('the folder to be removed', () => !existsSync(folder));
  });

  it('reports its exit after its last output, and starts again', async () => {
    const child = new ChildProgram({
      label: 'talking',
      args: ['-p', '"word"; process.exitCode = 3; "last"'],
    });
    for (const lines of [1, 2]) {
      await child.start();
      expect(await child.ended(20_000)).toEqual({ code: 3, signal: null });
      expect(child.output).toEqual(Array.from({ length: lines }, () => 'last'));
      expect(() => child.pid).toThrow('talking has ended');
    }
  });

  it('rejects when the program cannot be run', async () => {
    const child = new ChildProgram({ label: 'absent', command: '/no/such/program', args: [] });
    await expect(child.start()).rejects.toThrow(/no\/such\/program.*ENOENT/);
    await child.close();
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
