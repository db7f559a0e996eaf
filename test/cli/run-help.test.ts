import { runProgram } from '../support/cli/run-program';

/** The help of the three commands that run a command under a lease. */

const COMMANDS = ['lock run', 'semaphore run', 'elect'];

async function help(command: string): Promise<string> {
  const { out } = await runProgram([...command.split(' '), '--help']);
  return out.replace(/\s+/g, ' ');
}

test.each(COMMANDS)('the usage of %s has "--" before the command', async (command) => {
  expect(await help(command)).toContain(`Usage: holdfast ${command} [options] <name> -- <command...>`);
});

test.each(COMMANDS)('%s says where the command belongs after an option of the command', async (command) => {
  const { err, code } = await runProgram([...command.split(' '), 'a-name', 'ls', '-d', '/tmp']);
  expect(code).toBe(64);
  expect(err).toMatch(/^holdfast: unknown option '-d'\n\(write the command after "--"/);
});

test.each([
  ['lock run', 'which refuses smaller tokens'],
  ['elect', 'which refuses smaller tokens'],
  // Several holders write at the same time, with tokens in any order.
  ['semaphore run', 'Tokens of a semaphore do not order writes'],
])('%s gives the use of its fencing token', async (command, text) => {
  const shown = await help(command);
  expect(shown).toContain(text);
  expect(shown.includes('refuses smaller tokens')).toBe(command !== 'semaphore run');
});

test('elect says how others see the leader, and that holdfast does not stand again', async () => {
  const shown = await help('elect');
  expect(shown).toContain('"holdfast lock get NAME" shows the leader and its value');
  expect(shown).toContain('does not stand again');
});

test('"help" with the words of a command prints the help of the command', async () => {
  const { out } = await runProgram(['help', 'lock', 'run']);
  expect(out).toBe((await runProgram(['lock', 'run', '--help'])).out);
  expect(await runProgram(['help', 'lock', 'walk'])).toMatchObject({ code: 64 });
});
