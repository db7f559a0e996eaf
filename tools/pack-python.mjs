/**
 * Builds the wheel of the Python client: `node tools/pack-python.mjs [FOLDER [PYTHON [OPTION...]]]` writes
 * holdfast-VERSION-py3-none-any.whl into FOLDER, by default dist/packages. The wheel has the client and the stubs, as
 * holdfast.v1. PYTHON (python3) needs pip, which gets the OPTIONs and fetches the build backend. The same sources give
 * the same bytes.
 */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const client = join(root, 'clients', 'python');

/**
 * @param {string} target the folder of the wheel
 * @param {string} python the Python that builds
 * @param {readonly string[]} options more options of pip
 * Returns the path of the wheel.
 */
export function packPython(target, python = 'python3', options = []) {
  const stage = mkdtempSync(join(tmpdir(), 'holdfast-client-'));
  try {
    const isSource = (path) => !path.includes('__pycache__');
    // In the source, holdfast.v1 is a link to generated/python.
    cpSync(join(client, 'src'), join(stage, 'src'), { recursive: true, dereference: true, filter: isSource });
    copyFileSync(join(client, 'README.md'), join(stage, 'README.md'));
    copyFileSync(join(root, 'LICENSE'), join(stage, 'LICENSE'));
    writeFileSync(join(stage, 'pyproject.toml'), manifest());
    const wheels = join(stage, 'wheels');
    const pip = ['-m', 'pip', 'wheel', '--quiet', '--disable-pip-version-check', '--no-deps', ...options];
    execFileSync(python, [...pip, '--wheel-dir', wheels, '.'], {
      cwd: stage,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [wheel] = readdirSync(wheels);
    mkdirSync(target, { recursive: true });
    copyFileSync(join(wheels, wheel), join(target, wheel));
    return join(target, wheel);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** The version comes from the package.json at the root, as in all packages of this repository. */
function manifest() {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const own = readFileSync(join(client, 'pyproject.toml'), 'utf8');
  return own.replace(/^version = ".*"$/m, `version = "${version}"`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , folder = join(root, 'dist', 'packages'), python, ...options] = process.argv;
  console.log(packPython(resolve(folder), python, options));
}
