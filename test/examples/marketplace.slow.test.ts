import { RedisProcess } from '../support/processes/redis-process';
import { EXIT, passedAudit, startMarketplace } from './marketplace-program';
import { Stage } from './stage';
import type { ExampleProcess } from './example-process';

let stage: Stage;
let redis: RedisProcess;
let program: ExampleProcess | undefined;

beforeAll(async () => {
  [stage, redis] = await Promise.all([Stage.open(), RedisProcess.start()]);
});
afterEach(() => program?.close());
afterAll(async () => {
  await Promise.all([stage?.close(), redis?.close()]);
});

test('npm run marketplace sells no item twice, and keeps the sum of money, under each strategy (chapter 21, 22, 23)', async () => {
  const servers = stage.servers.map(({ listen }) => listen).join(',');
  program = await startMarketplace(
    ...['--server', servers, '--redis', redis.adminUrl, '--seconds', '1'],
    ...['--choice', '20', '--pauses', '0.02', '--ttl', '300ms'],
  );
  for (const strategy of ['watch', 'coarse', 'fine']) {
    const { match } = await program.line(passedAudit(strategy), { timeoutMs: 60_000 });
    expect(Number(match[1]?.replaceAll(',', ''))).toBeGreaterThan(0);
    // The printed table has a row for each strategy.
    expect(program.has(new RegExp(`^${strategy} +\\d`))).toBe(true);
  }
  expect(await program.exit()).toEqual({ code: EXIT.passed, signal: null });
  // The program has removed its keys from the given Redis.
  expect(await redis.command('DBSIZE')).toBe('0');
});

test('npm run marketplace starts a private Redis, and closes and audits the market at Ctrl-C', async () => {
  program = await startMarketplace('--mode', 'watch', '--seconds', '600');
  await program.line(/^mode +listed +bought/);
  program.signal('SIGINT');
  await program.line(passedAudit('watch'));
  expect(await program.exit()).toEqual({ code: EXIT.passed, signal: null });
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
])('npm run marketplace prints the problem of %j, and ends', async (args, message, code) => {
  program = await startMarketplace(...args);
  await program.line(message);
  expect(await program.exit()).toEqual({ code, signal: null });
});
