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
afterAll(async () => {
  await program?.close();
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
