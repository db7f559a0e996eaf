// Prints the folder of another Node, so that `.ci/run` can run the tests with both: the present LTS, or Node 20 if this is
// the present LTS. Installs npm's package `node` into the cache if necessary. Without the package, prints nothing and names
// the reason on standard error.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const OLDEST = '20.20.2';
const PRESENT_LTS = '24.21.0';

const present = Number(process.versions.node.split('.')[0]);
const version = PRESENT_LTS.startsWith(`${present}.`) ? OLDEST : PRESENT_LTS;
const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'holdfast', `node-${version}`);
const bin = join(folder, 'node_modules', 'node', 'bin');

const isThere = () =>
  spawnSync(join(bin, 'node'), ['--version'], { encoding: 'utf8' }).stdout?.trim() === `v${version}`;

if (!isThere()) {
  mkdirSync(folder, { recursive: true });
  const args = [
    'install',
    '--prefix',
    folder,
    '--no-audit',
    '--no-fund',
    '--no-package-lock',
    `node@${version}`,
  ];
  spawnSync('npm', args, { stdio: ['ignore', 2, 2] });
}
if (isThere()) console.log(bin);
else
  console.error(
    `[ci] npm's package node@${version} cannot be had here, so the tests run with Node ${present} only`,
  );
