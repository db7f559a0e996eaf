import { RedisProcess } from '../support/processes/redis-process';
import { builtFile } from './launchers';
import { Stage } from './stage';
import { WorkerProcess, type Launcher } from './worker-process';

const PROGRAM: Launcher = {
  command: process.execPath,
  args: [builtFile('examples', 'marketplace', 'marketplace.js')],
  env: {},
};
const EXIT = { passed: 0, failed: 1, usage: 2 } as const;
const SMALL = ['--buyers', '4', '--sellers', '2', '--processes', '2', '--items', '2000'];

let stage: Stage;
let redis: RedisProcess;
let run: WorkerProcess | undefined;

beforeAll(async () => {
  [stage, redis] = await Promise.all([Stage.open(), RedisProcess.start()]);
});
afterEach(() => run?.close());
afterAll(async () => {
  await Promise.all([stage?.close(), redis?.close()]);
});

async function start(...args: string[]): Promise<WorkerProcess> {
  run = await WorkerProcess.start(PROGRAM, args);
  return run;
}

const auditOf = (way: string) =>
  new RegExp(
    `^audit ${way} +ok: ([\\d,]+) sold, 0 twice; money (\\S+) before, \\2 after, wrong funds 0; ` +
      '2,000 items, 0 not in exactly one place$',
  );

test('in three ways and several processes no item is sold twice, and no money made or lost (chapter 21, 22, 23)', async () => {
  const servers = stage.servers.map(({ listen }) => listen).join(',');
  const market = await start(
    ...SMALL,
    ...['--server', servers, '--redis', redis.url, '--seconds', '1'],
    ...['--choice', '20', '--pauses', '0.02', '--ttl', '300ms'],
  );
  for (const way of ['watch', 'coarse', 'fine']) {
    const { match } = await market.line(auditOf(way), 20_000);
    expect(Number(match[1]?.replaceAll(',', ''))).toBeGreaterThan(0);
    // One line of the table each, too.
    expect(market.has(new RegExp(`^${way} +\\d`))).toBe(true);
  }
  expect(await market.exit()).toEqual({ code: EXIT.passed, signal: null });
  // It leaves nothing behind in a Redis that is somebody's.
  expect(await redis.command('DBSIZE')).toBe('0');
});

test('brings a Redis of its own, and closes the market at a Ctrl-C, with its audit', async () => {
  const market = await start(...SMALL, '--mode', 'watch', '--seconds', '600');
  await market.line(/^way +listed +bought/);
  market.signal('SIGINT');
  await market.line(auditOf('watch'));
  expect(await market.exit()).toEqual({ code: EXIT.passed, signal: null });
});

test.each([
  [['--mode', 'none'], /^--mode none: expected watch, coarse, fine or all$/, EXIT.usage],
  [['--pauses', '2'], /^--pauses 2: expected a number from 0 to 1$/, EXIT.usage],
  [['--server', '127.0.0.1:1'], /^no Holdfast server answers at 127\.0\.0\.1:1: start one/, EXIT.failed],
  [
    ['--mode', 'watch', '--redis', 'redis://127.0.0.1:1'],
    /^the market's Redis cannot be reached: .*ECONNREFUSED/,
    EXIT.failed,
  ],
])('with %j says what is wrong, and ends', async (args, words, code) => {
  const market = await start(...args);
  await market.line(words);
  expect(await market.exit()).toEqual({ code, signal: null });
});
