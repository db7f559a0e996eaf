import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { closeAll, eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import { ROOT } from '../support/root';

const PROGRAM = join(ROOT, 'dist', 'src', 'cli', 'main.js');

describe('holdfast serve', () => {
  let redis: RedisProcess;
  let server: ServerProcess;

  beforeAll(async () => {
    redis = await RedisProcess.start();
    // The words after `node`: the program, and its command.
    server = await ServerProcess.start({ redisUrl: redis.url, nodeArguments: [PROGRAM], program: 'serve' });
  });
  afterAll(() =>
    closeAll(
      () => server?.close(),
      () => redis?.close(),
    ),
  );

  it('drains once on a Ctrl-C that arrives twice, as under npm, and ends with 0', async () => {
    server.signal('SIGINT');
    // On a busy machine the server may have drained and ended before the second signal.
    trySignal(server, 'SIGINT');
    await eventually('the end of the server', () => server.exit);
    expect(server.exit).toEqual({ code: 0, signal: null });
    expect(server.logs.map(({ msg }) => msg)).toContain('stopped');
  });

  it('names every wrong setting without a stack, and ends with 64', async () => {
    const env = { PATH: process.env['PATH'], HOLDFAST_MAX_TTL: 'long' };
    const [code, stderr] = await new Promise<[unknown, string]>((resolve) => {
      execFile(process.execPath, [PROGRAM, 'serve'], { env }, (error, _, text) =>
        resolve([error?.code, text]),
      );
    });
    expect(code).toBe(64);
    expect(stderr).toMatch(/^holdfast: the configuration is invalid:\n {2}HOLDFAST_REDIS_URL is required/);
    expect(stderr).not.toMatch(/ at .*\.js:\d+/);
  });
});

function trySignal(program: ServerProcess, signal: NodeJS.Signals): void {
  try {
    program.signal(signal);
  } catch (error) {
    expect((error as Error).message).toContain('has ended');
  }
}
