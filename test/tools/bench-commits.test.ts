import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../support/root';
import { scratchFolder } from '../support/scratch-folder';

/** .ci/bench-commits.mjs, against small repositories. */

const run = promisify(execFile);

async function check(folder: string): Promise<{ code: number; output: string }> {
  try {
    const { stdout } = await run(process.execPath, [join(ROOT, '.ci/bench-commits.mjs'), folder]);
    return { code: 0, output: stdout };
  } catch (error) {
    const { code, stderr } = error as { code: number; stderr: string };
    return { code, output: stderr };
  }
}

async function git(folder: string, ...args: string[]): Promise<string> {
  const who = ['-c', 'user.name=test', '-c', 'user.email=test@example.org', '-c', 'commit.gpgsign=false'];
  const { stdout } = await run('git', [...who, ...args], { cwd: folder });
  return stdout.trim();
}

const commit = async (folder: string): Promise<string> => {
  await git(folder, 'commit', '--quiet', '--allow-empty', '--message', 'a change');
  return git(folder, 'rev-parse', '--short=12', 'HEAD');
};

function row(folder: string, name: string, measuredAt: string): void {
  const results = join(folder, 'bench/results');
  mkdirSync(results, { recursive: true });
  writeFileSync(join(results, `${name}.json`), JSON.stringify({ machine: { commit: measuredAt } }));
}

async function repository(): Promise<{ folder: string; first: string }> {
  const folder = scratchFolder();
  await git(folder, 'init', '--quiet');
  return { folder, first: await commit(folder) };
}

test('accepts rows that were measured at HEAD and at earlier commits', async () => {
  const { folder, first } = await repository();
  row(folder, 'old', first);
  row(folder, 'new', await commit(folder));
  expect(await check(folder)).toEqual({ code: 0, output: '' });
});

test('refuses a row of a commit that is not in the history of HEAD', async () => {
  const { folder, first } = await repository();
  const left = await commit(folder);
  await git(folder, 'reset', '--quiet', '--hard', first);
  row(folder, 'good', first);
  row(folder, 'left', left);
  row(folder, 'unheard', '94b0f392d3da');
  const { code, output } = await check(folder);
  expect(code).toBe(1);
  expect(output.trim().split('\n')).toEqual([
    `bench/results/left.json was measured at ${left}, which is not in the history of HEAD: measure the row again`,
    'bench/results/unheard.json was measured at 94b0f392d3da, which is not in the history of HEAD: measure the row again',
  ]);
});

test.each(['+', 'unknown'])(
  'refuses a row of the commit "%s", which nobody can measure again',
  async (end) => {
    const { folder, first } = await repository();
    const measuredAt = end === '+' ? `${first}+` : end;
    row(folder, 'dirty', measuredAt);
    expect(await check(folder)).toEqual({
      code: 1,
      output: `bench/results/dirty.json was measured at "${measuredAt}", which is no commit: measure the row again in a committed tree\n`,
    });
  },
);

test('says that it skips a shallow clone, and a tree that is no repository', async () => {
  const { folder } = await repository();
  await commit(folder);
  const clone = join(scratchFolder(), 'clone');
  await git(folder, 'clone', '--quiet', '--depth', '1', `file://${folder}`, clone);
  row(clone, 'old', '94b0f392d3da');
  expect(await check(clone)).toMatchObject({ code: 0, output: expect.stringMatching(/^skipped: .*shallow/) });
  const bare = join(folder, 'unpacked');
  row(bare, 'old', '94b0f392d3da');
  expect(await check(bare)).toMatchObject({ code: 0, output: expect.stringMatching(/^skipped: .*no git/) });
});
