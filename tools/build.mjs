/**
 * Builds dist/ so that it is exactly what the sources say: compiled, with the few files that are not TypeScript
 * copied beside, and without the output of sources that are gone.
 *
 * `npm run build` runs this file; `prepare.mjs` calls it when an input has changed. Whether one has is decided by
 * content, not by times, which a checkout changes at will: reading a few hundred files takes milliseconds.
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
  writeFileSync,
} from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { takePidLock } from '../src/dev/pid-lock.cjs';

/** Whose files decide what dist/ is. generated/redis is not among them: the build itself writes it. */
const INPUTS = ['src', 'clients/typescript', 'tools', 'generated/typescript', 'test', 'bench', 'examples'];
const INPUT_FILES = ['generated/descriptor.binpb', 'package-lock.json', 'tsconfig.json'];
const INPUT_KINDS = new Set(['.ts', '.cts', '.mts', '.mjs', '.cjs', '.lua']);
/** Files that the compiled code reads at run time, at the same place relative to it. */
const ASSETS = ['generated/descriptor.binpb', 'src/dev/pid-lock.cjs'];
const STAMP = 'dist/.built-from';
const COMPILED = /\.(js|js\.map)$/;

/** Every file below a folder, as paths from the root. */
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

function digestOf(root, files) {
  const hash = createHash('sha256');
  for (const path of files) hash.update(`\0${path}\0`).update(readFileSync(join(root, path)));
  return hash.digest('hex');
}

/** The file that the compiler makes of a source, or undefined where it makes none. */
function outputOf(path) {
  if (!path.endsWith('.ts') || path.endsWith('.d.ts')) return undefined;
  return `dist/${path.slice(0, -'.ts'.length)}.js`;
}

/**
 * Why a build is needed, in words; undefined when it is not.
 * @param {string} root
 */
export function buildProblem(root) {
  const stamp = join(root, STAMP);
  if (!existsSync(stamp)) return 'dist/ is not built yet';
  const files = inputFiles(root);
  if (readFileSync(stamp, 'utf8') !== digestOf(root, files)) return 'the sources have changed';
  const outputs = [...files.map(outputOf).filter(Boolean), ...presentAssets(root).map((a) => `dist/${a}`)];
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

/** Removes the output of sources that are gone: a forgotten test or script there would still run. */
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

/**
 * @param {string} root
 * @param {string} why
 * @param {(text: string) => void} say
 */
export async function build(root, why, say) {
  say(`${why}: building`);
  const started = performance.now();
  // Without its stamp a dist/ that is half written, by us or by one interrupted, is built again.
  rmSync(join(root, STAMP), { force: true });
  // Taken before compiling: what is edited meanwhile makes the next run build again.
  const digest = digestOf(root, inputFiles(root));
  await runNode(root, 'tools/embed-scripts.mjs');
  await runNode(root, 'node_modules/typescript/bin/tsc', ['-p', 'tsconfig.json']);
  copyAssets(root);
  pruneOutput(root);
  writeFileSync(join(root, STAMP), digest);
  say(`built in ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

/** What `npm run build` does: builds in any case. */
async function main(root) {
  const say = (text) => console.error(`[build] ${text}`);
  const release = await takePidLock(join(root, '.holdfast', 'prepare.lock'), (pid) =>
    say(`another process (${pid}) is preparing this folder, waiting for it`),
  );
  try {
    await build(root, 'asked to', say);
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
