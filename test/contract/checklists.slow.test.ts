import { execFile } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { ROOT } from '../support/root';
import { scratchFolder } from '../support/scratch-folder';

/**
 * Adds a field to AcquireLockRequest in a copy of the project, does nothing else, and compares the files that the compiler
 * and the tests report with the files that the checklist of CONTRIBUTING.md promises to be reported.
 */

const CONTRACT = 'proto/holdfast/v1/lock_service.proto';
const FIELD = `
  // A text of the test.
  string added_text = 100;
}
`;
/** Folders that are built or installed, and those of git and of the test runs. */
const LEFT_OUT = new Set(['node_modules', 'dist', 'target', '.git', '.holdfast', '.venv', '__pycache__']);
/** The tests that read the fields of requests from the contract. Most other tests need a server for minutes. */
const READ_THE_FIELDS = [
  'test/contract/checklists.test.ts',
  'test/contract/call-table.test.ts',
  'test/leases/contract/session-requests.test.ts',
  'test/access/policy.test.ts',
  'test/cli/flags.test.ts',
  'test/tools/bench-tools.slow.test.ts',
];

let copy: string;
beforeAll(() => {
  copy = join(scratchFolder(), 'holdfast');
  cpSync(ROOT, copy, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !LEFT_OUT.has(basename(path)),
  });
  for (const folder of ['node_modules', 'dist']) symlinkSync(join(ROOT, folder), join(copy, folder));
  const contract = readFileSync(join(copy, CONTRACT), 'utf8');
  const changed = contract.replace(/(?<=\nmessage AcquireLockRequest \{(?:\n(?!\}).*)*\n)\}\n/, FIELD);
  expect(changed).not.toBe(contract);
  writeFileSync(join(copy, CONTRACT), changed);
});

/** Runs a program of the copy. Resolves to its exit code and all that it prints. */
function run(...args: readonly string[]): Promise<{ code: unknown; output: string }> {
  return new Promise((resolve) => {
    const options = { cwd: copy, maxBuffer: 2 ** 26 };
    execFile(process.execPath, args, options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, output: stdout + stderr }),
    );
  });
}

/** The files that the compiler reports. In .ci/run nothing else checks the types, so a wrong type anywhere fails here. */
async function notCompiled(): Promise<string[]> {
  const { output } = await run('node_modules/typescript/bin/tsc', '--noEmit', '--pretty', 'false');
  return [...output.matchAll(/^([^\s(]+)\(\d+,\d+\): error/gm)].map(([, path]) => path!);
}

/** The files that tests report: those that a failure names, or else the test itself. */
async function notPassed(): Promise<string[]> {
  const args = [
    ...['--config', 'test/jest.config.cjs', '--testPathIgnorePatterns', '/node_modules/'],
    ...['--ci', '--json', '-w', '1', ...READ_THE_FIELDS],
  ];
  const { output } = await run('node_modules/jest/bin/jest.js', ...args);
  const json = output.split('\n').find((line) => line.startsWith('{"num'))!;
  const { testResults: results } = JSON.parse(json) as {
    testResults: { name: string; status: string; message: string; assertionResults: unknown[] }[];
  };
  expect(results.map(({ name }) => relative(copy, name)).sort()).toEqual([...READ_THE_FIELDS].sort());
  expect(results.filter(({ assertionResults }) => assertionResults.length === 0)).toEqual([]);
  return results
    .filter(({ status }) => status === 'failed')
    .flatMap(({ name, message }) => {
      const named = [...message.matchAll(/"(\S+(?: \S+)*): AcquireLockRequest\.added_text is not named"/g)];
      return named.length > 0 ? named.flatMap(([, files]) => files!.split(' ')) : [relative(copy, name)];
    });
}

/** The paths of the checklist for a field, up to the heading of what nothing reports. */
function promised(): string[] {
  const page = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
  const [, section = ''] = page.split('\n## Checklist: a new field in a request\n');
  const [reported = ''] = section.split('\n## ')[0]!.split('\nNothing reports');
  return reported.match(/(?<=`)(src|test|clients|docs|proto|generated)\/[^\s`]*(?=`)/g) ?? [];
}

test('the checklist for a new field has each place that the compiler or a test reports, and no other one', async () => {
  const check = await run('tools/generate.mjs', '--check', 'typescript');
  expect(check).toEqual({ code: 1, output: expect.stringContaining('changed generated/typescript/') });
  expect(await run('tools/generate.mjs', 'typescript')).toMatchObject({ code: 0 });
  const reported = [...(await notCompiled()), ...(await notPassed()), 'proto/', 'generated/'];
  expect([...new Set(promised())].sort()).toEqual([...new Set(reported)].sort());
}, 600_000);
