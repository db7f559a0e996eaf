/**
 * Makes a fresh clone runnable: installs what package-lock.json says and builds dist/, each only when needed.
 * `npm start`, `npm test` and the others run it first; with nothing to do it takes a fraction of a second.
 *
 *     node tools/prepare.mjs [--quiet]      --quiet: not a word unless there is something to do
 *
 * Only what comes with Node is used, for nothing may be installed yet; and this file keeps to syntax that an old
 * Node can read, so that an old Node gets to print the sentence that says it is too old.
 */
import { readFileSync } from 'fs';
import { dirname, join } from 'path';
import { fileURLToPath } from 'url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** True when version `actual` ("20.11.1") is at least `wanted` ("20.11"). */
function isAtLeast(actual, wanted) {
  const have = actual.split('.').map(Number);
  const need = wanted.split('.').map(Number);
  for (let i = 0; i < need.length; i++) {
    if ((have[i] || 0) !== need[i]) return (have[i] || 0) > need[i];
  }
  return true;
}

async function prepare(quiet) {
  const { installProblem, install } = await import('./install.mjs');
  const { buildProblem, build } = await import('./build.mjs');
  const { takePidLock } = await import('../src/dev/pid-lock.cjs');
  const say = (text) => console.error(`[prepare] ${text}`);

  if (!installProblem(root) && !buildProblem(root)) {
    if (!quiet) say('installed and built: nothing to do');
    return;
  }
  // Three terminals may start at the same time: one works, the others wait and then find it done.
  const release = await takePidLock(join(root, '.holdfast', 'prepare.lock'), (pid) =>
    say(`another process (${pid}) is preparing this folder, waiting for it`),
  );
  try {
    const notInstalled = installProblem(root);
    if (notInstalled) await install(root, notInstalled, say);
    const notBuilt = buildProblem(root);
    if (notBuilt) await build(root, notBuilt, say);
  } finally {
    release();
  }
}

const needed = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).engines.node.replace('>=', '');
if (isAtLeast(process.versions.node, needed)) {
  prepare(process.argv.includes('--quiet')).catch((error) => {
    console.error(`[prepare] ${error.message}`);
    process.exitCode = 1;
  });
} else {
  console.error(`[prepare] Node ${needed} or newer is needed; this is Node ${process.versions.node}`);
  process.exitCode = 1;
}
