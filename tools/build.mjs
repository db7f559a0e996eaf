/**
 * Builds dist/ from the sources: compiles TypeScript, copies the other files that the code needs at run time, and
 * removes the output of deleted sources.
 *
 * `npm run build` runs this file. `prepare.mjs` calls `build` if an input has changed. A change is detected by content,
 * because a git checkout also changes the times of unchanged files.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { takePidLock } from '../src/dev/pid-lock.cjs';
import SWC from './swc-options.cjs';

/** The input folders of the build. generated/redis is no input, because the build writes this folder. */
const INPUTS = [
  ...['src', 'clients/typescript', 'clients/conformance', 'tools', 'generated/typescript'],
  ...['test', 'bench', 'examples'],
];
const INPUT_FILES = [
  ...['generated/descriptor.binpb', 'package-lock.json', 'tsconfig.json'],
  'clients/typescript/package.json',
];
const INPUT_KINDS = new Set(['.ts', '.cts', '.mts', '.mjs', '.cjs', '.lua']);
/** Files that the compiled code reads at run time. The build copies them to the same path below dist/. */
const ASSETS = ['generated/descriptor.binpb', 'src/dev/pid-lock.cjs'];
/** The examples import @holdfast/client, as users of the npm package do. Here it consists of links into dist/. */
const CLIENT = 'dist/node_modules/@holdfast/client';
const STAMP = 'dist/.built-from';
const COMPILED = /\.(js|js\.map)$/;

/** The paths of all files below a folder, from the root. */
function filesBelow(root, folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : filesBelow(root, path);
    return entry.isFile() ? [path] : [];
  });
}

function inputFiles(root) {
  const sources = INPUTS.flatMap((folder) => filesBelow(root, folder));
  const files = sources.filter((path) => INPUT_KINDS.has(extname(path)));
  return [...files, ...INPUT_FILES.filter((path) => existsSync(join(root, path)))].sort();
}

function sourceFiles(root) {
  const sources = [...INPUTS, 'generated/redis'].flatMap((folder) => filesBelow(root, folder));
  return sources.filter((path) => outputOf(path) !== undefined);
}

function digestOf(root, files) {
  const hash = createHash('sha256');
  for (const path of files) hash.update(`\0${path}\0`).update(readFileSync(join(root, path)));
  return hash.digest('hex');
}

/** The output file of a source. Undefined: the compiler writes no file for this source. */
function outputOf(path) {
  if (!path.endsWith('.ts') || path.endsWith('.d.ts')) return undefined;
  return `dist/${path.slice(0, -'.ts'.length)}.js`;
}

/**
 * The reason for a build. Undefined: dist/ is up to date.
 * @param {string} root
 */
export function buildProblem(root) {
  const stamp = join(root, STAMP);
  if (!existsSync(stamp)) return 'dist/ is not built yet';
  const files = inputFiles(root);
  if (readFileSync(stamp, 'utf8') !== digestOf(root, files)) return 'the sources have changed';
  const outputs = [...files.map(outputOf).filter(Boolean), ...presentAssets(root).map((a) => `dist/${a}`)];
  outputs.push(`${CLIENT}/package.json`);
  const missing = outputs.find((path) => !existsSync(join(root, path)));
  return missing && `${missing} is missing`;
}

function presentAssets(root) {
  return ASSETS.filter((path) => existsSync(join(root, path)));
}

function copyAssets(root) {
  for (const path of presentAssets(root)) {
    mkdirSync(dirname(join(root, 'dist', path)), { recursive: true });
    copyFileSync(join(root, path), join(root, 'dist', path));
  }
}

/** The exports of package.json hold here too, so an example cannot import an inner file of the client. */
function linkClient(root) {
  rmSync(join(root, CLIENT), { recursive: true, force: true });
  mkdirSync(join(root, CLIENT, 'lib'), { recursive: true });
  for (const folder of ['clients', 'generated']) {
    symlinkSync(join('..', '..', '..', '..', folder), join(root, CLIENT, 'lib', folder), 'dir');
  }
  copyFileSync(join(root, 'clients', 'typescript', 'package.json'), join(root, CLIENT, 'package.json'));
}

/** Removes the output of deleted sources, because a deleted test or script would still run from dist/. */
function pruneOutput(root) {
  for (const path of filesBelow(root, 'dist')) {
    const source = relative('dist', path).replace(COMPILED, '.ts');
    if (COMPILED.test(path) && !existsSync(join(root, source))) rmSync(join(root, path));
  }
}

function runNode(root, script, args = []) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(root, script), ...args], {
      cwd: root,
      stdio: ['ignore', 2, 2],
    });
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`the build failed in ${script} (${signal ?? `exit code ${code}`}); see above`));
    });
  });
}

/** Compiles each file by itself, without its types. */
async function compile(root, files) {
  // prepare.mjs loads this file before the packages are installed.
  const { transformFile } = await import('@swc/core');
  const compiled = await Promise.allSettled(
    files.map(async (path) => {
      const output = join(root, outputOf(path));
      const sourceFileName = relative(dirname(output), join(root, path));
      const { code, map } = await transformFile(join(root, path), { ...SWC, sourceFileName });
      mkdirSync(dirname(output), { recursive: true });
      writeFileSync(output, `${code}//# sourceMappingURL=${basename(output)}.map\n`);
      writeFileSync(`${output}.map`, map);
    }),
  );
  // The text after this line is about swc itself.
  const problems = compiled.flatMap(({ reason }) =>
    (reason ? reason.message.split('\n\nCaused by:') : []).slice(0, 1),
  );
  if (problems.length > 0) throw new Error(`the build failed:\n${problems.join('\n')}`);
}

/**
 * `checkTypes` adds a check of the types, which takes most of the time. `npm run check` and
 * test/contract/checklists.slow.test.ts check them, too.
 * @param {string} root
 * @param {string} reason
 * @param {(text: string) => void} log
 * @param {{ checkTypes?: boolean }} options
 */
export async function build(root, reason, log, { checkTypes = false } = {}) {
  log(`${reason}: building`);
  const started = performance.now();
  // The stamp is missing during the build, so that the next run repeats an interrupted build.
  rmSync(join(root, STAMP), { force: true });
  // The digest is computed before the compilation, so that the next run notices an edit during the build.
  const digest = digestOf(root, inputFiles(root));
  await runNode(root, 'tools/embed-scripts.mjs');
  await compile(root, sourceFiles(root));
  if (checkTypes) await runNode(root, 'node_modules/typescript/bin/tsc', ['-p', 'tsconfig.json', '--noEmit']);
  copyAssets(root);
  linkClient(root);
  pruneOutput(root);
  writeFileSync(join(root, STAMP), digest);
  log(`built in ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

/** `npm run build`: checks the types, and always builds, even if no input has changed. */
async function main(root) {
  const log = (text) => console.error(`[build] ${text}`);
  const release = await takePidLock(join(root, '.holdfast', 'prepare.lock'), (pid) =>
    log(`another process (pid ${pid}) is preparing this folder: waiting for it`),
  );
  try {
    await build(root, 'npm run build', log, { checkTypes: true });
  } finally {
    release();
  }
}

const here = fileURLToPath(import.meta.url);
if (process.argv[1] && realpathSync(process.argv[1]) === here) {
  main(join(dirname(here), '..')).catch((error) => {
    console.error(`[build] ${error.message}`);
    process.exitCode = 1;
  });
}
