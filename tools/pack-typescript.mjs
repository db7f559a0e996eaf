/**
 * Builds the npm package of the TypeScript client: `node tools/pack-typescript.mjs [FOLDER]` writes
 * holdfast-client-VERSION.tgz into FOLDER, by default dist/packages. The package has the compiled client and the stubs
 * that the client uses, and no server code. The same sources give the same bytes.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const client = join(root, 'clients', 'typescript');
const require = createRequire(import.meta.url);

/** The entry of `import`. The module exists once, in CommonJS, so that both kinds of users share its classes. */
const ENTRY = "export * from './lib/clients/typescript/index.js';\n";

/** @param {string} target the folder of the package. Returns the path of the package. */
export function packTypescript(target) {
  const stage = mkdtempSync(join(tmpdir(), 'holdfast-client-'));
  try {
    const tsc = require.resolve('typescript/bin/tsc');
    execFileSync(process.execPath, [tsc, '-p', client, '--outDir', join(stage, 'lib')], { stdio: 'inherit' });
    for (const name of ['index.mjs', 'index.d.mts']) writeFileSync(join(stage, name), ENTRY);
    copyFileSync(join(client, 'README.md'), join(stage, 'README.md'));
    copyFileSync(join(root, 'LICENSE'), join(stage, 'LICENSE'));
    writeFileSync(join(stage, 'package.json'), manifest());
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

/** The version comes from the package.json at the root, as in all packages of this repository. */
function manifest() {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const own = JSON.parse(readFileSync(join(client, 'package.json'), 'utf8'));
  return `${JSON.stringify({ ...own, version }, undefined, 2)}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(packTypescript(resolve(process.argv[2] ?? join(root, 'dist', 'packages'))));
}
