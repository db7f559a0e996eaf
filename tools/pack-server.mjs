/**
 * Builds the npm package of the server and the program `holdfast`: `node tools/pack-server.mjs [FOLDER]` writes
 * holdfast-VERSION.tgz into FOLDER, by default dist/packages. Needs a build (`npm run build`). The package has the
 * compiled program and the contract, and no tests. The same build gives the same bytes.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildProblem } from './build.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

const CONTENT = [
  ...['dist/src', 'dist/generated', 'dist/clients/typescript', 'proto'],
  ...['README.md', 'LICENSE', 'CHANGELOG.md'],
];
/** Fields of package.json that concern users of the package. */
const FIELDS = ['name', 'version', 'description', 'license', 'engines', 'main', 'bin', 'dependencies'];

/** Source maps lead to sources that are not in the package, and the driver is a program of the tests. */
function belongs(path) {
  return !path.endsWith('.js.map') && !path.endsWith('/clients/typescript/conformance');
}

/** @param {string} target the folder of the package. Returns the path of the package. */
export function packServer(target) {
  const problem = buildProblem(root);
  if (problem !== undefined) throw new Error(`${problem}: run "npm run build" first`);
  const stage = mkdtempSync(join(tmpdir(), 'holdfast-server-'));
  try {
    for (const path of CONTENT) {
      cpSync(join(root, path), join(stage, path), { recursive: true, filter: belongs });
    }
    writeFileSync(join(stage, 'package.json'), manifest());
    chmodSync(join(stage, 'dist', 'src', 'cli', 'main.js'), 0o755);
    mkdirSync(target, { recursive: true });
    const output = execFileSync('npm', ['pack', '--json', '--pack-destination', target], {
      cwd: stage,
      encoding: 'utf8',
    });
    return join(target, JSON.parse(output)[0].filename);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

function manifest() {
  const whole = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const own = Object.fromEntries(FIELDS.map((field) => [field, whole[field]]));
  return `${JSON.stringify({ ...own, files: CONTENT }, undefined, 2)}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(packServer(resolve(process.argv[2] ?? join(root, 'dist', 'packages'))));
}
