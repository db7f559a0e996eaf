/**
 * Makes a fresh clone runnable: installs the packages of package-lock.json and builds dist/, if necessary. `npm start`,
 * `npm test` and the other npm scripts run this file first.
 *
 *     node tools/prepare.mjs [--quiet]      --quiet: prints nothing if no step is necessary
 *
 * This file uses only modules of Node, because the packages may not be installed yet. This file uses only syntax that
 * old versions of Node can parse, so that an old Node prints a clear message.
 */
import { readFileSync } from 'fs';
import { dirname, join } from 'path';
import { fileURLToPath } from 'url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** Compares versions: true if `actual` ("20.11.1") is at least `wanted` ("20.11"). */
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
  const log = (text) => console.error(`[prepare] ${text}`);

  if (!installProblem(root) && !buildProblem(root)) {
    if (!quiet) log('installed and built: nothing to do');
    return;
  }
  // Commands in several terminals may prepare the same folder at the same time. Only the owner of the lock may install
  // and build. The other processes wait.
  const release = await takePidLock(join(root, '.holdfast', 'prepare.lock'), (pid) =>
    log(`another process (pid ${pid}) is preparing this folder: waiting for it`),
  );
  try {
    const notInstalled = installProblem(root);
    if (notInstalled) await install(root, notInstalled, log);
    const notBuilt = buildProblem(root);
    if (notBuilt) await build(root, notBuilt, log);
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
