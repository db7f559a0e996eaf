// Checks that each row of bench/results names a commit of the history, because only such a measurement can be repeated.
// A commit with "+" was measured with uncommitted changes.
//
//     node .ci/bench-commits.mjs            checks this repository
//     node .ci/bench-commits.mjs FOLDER     checks another one
//
// Without the whole history (a shallow clone, a tree without git) the check says so and succeeds.

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url));
const results = join(root, 'bench', 'results');

/** The output of a git command. Undefined: git is missing, or the command has failed. */
function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

/** Why the history cannot be read. Undefined: the history is whole. */
function lackOfHistory() {
  // A tree without git may lie inside another repository.
  if (git('rev-parse', '--show-prefix') !== '' || git('rev-parse', 'HEAD') === undefined) {
    return 'this tree is no git repository with a commit';
  }
  return git('rev-parse', '--is-shallow-repository') === 'false' ? undefined : 'this clone is shallow';
}

function problemOf(file) {
  const { commit } = JSON.parse(readFileSync(join(results, file), 'utf8')).machine ?? {};
  const row = `bench/results/${file}`;
  if (!/^[0-9a-f]{7,40}$/.test(commit ?? '')) {
    return `${row} was measured at "${commit}", which is no commit: measure the row again in a committed tree`;
  }
  if (git('merge-base', '--is-ancestor', commit, 'HEAD') !== undefined) return undefined;
  return `${row} was measured at ${commit}, which is not in the history of HEAD: measure the row again`;
}

const lack = lackOfHistory();
if (lack !== undefined) {
  console.log(`skipped: ${lack}, so nobody knows which commits belong to the history`);
} else {
  const rows = readdirSync(results).filter((file) => file.endsWith('.json'));
  const problems = rows.map(problemOf).filter((problem) => problem !== undefined);
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
