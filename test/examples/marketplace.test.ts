import { EXIT, passedAudit, startMarketplace } from './marketplace-program';
import type { ExampleProcess } from './example-process';

let program: ExampleProcess | undefined;
afterEach(() => program?.close());

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
