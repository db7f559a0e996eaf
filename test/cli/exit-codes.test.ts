import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT, EXIT_TEXTS } from '../../src/cli/terminal';
import { ROOT } from '../support/root';
import { runProgram } from '../support/cli/run-program';

test('docs/cli.md has the exit codes of --help', async () => {
  const page = readFileSync(join(ROOT, 'docs', 'cli.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `?([^|`]+?)`? \| ([^|]+?) +\|$/gm)].map(([, code, text]) => [
    code,
    text,
  ]);
  const first = rows.findIndex(([code]) => code === '0');
  expect(rows.slice(first, first + EXIT_TEXTS.length)).toEqual(EXIT_TEXTS);
});

test.each(['--help', 'lock run --help', 'semaphore run --help', 'elect --help'])(
  '%s lists all exit codes',
  async (args) => {
    const { out } = await runProgram(args.split(' '));
    for (const [code, text] of EXIT_TEXTS)
      expect(out).toMatch(new RegExp(`^  ${code} +${text}$`.replace('+ n', '\\+ n'), 'm'));
  },
);

test('the table has each code that the program uses', () => {
  const known = EXIT_TEXTS.flatMap(([code]) => code.split(', '));
  expect(
    Object.values(EXIT)
      .map(String)
      .filter((code) => !known.includes(code)),
  ).toEqual([]);
});
