/**
 * Checks whether the packages of package-lock.json are installed, and runs `npm ci` if they are not.
 *
 * Two files inside node_modules prove an install. This script writes a note after a successful `npm ci`. npm writes its
 * hidden lock file at the end of every install, also of a manual install. An interrupted install leaves neither file.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const NOTE = '.holdfast-installed';

function readIfThere(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

/**
 * The note for this lock file and this kind of machine. The kind matters, because some packages contain binaries, which also
 * depend on the C library: Alpine has musl.
 */
function noteFor(lockText) {
  const digest = createHash('sha256').update(lockText).digest('hex');
  const libc = process.report.getReport().header.glibcVersionRuntime ? '' : '-other-libc';
  return `${digest} ${process.platform}-${process.arch}${libc}\n`;
}

/** The first package of the lock file that npm's hidden lock file lacks or lists differently. */
function firstDifference(lockText, hiddenText) {
  const wanted = JSON.parse(lockText).packages;
  const installed = JSON.parse(hiddenText).packages;
  return Object.keys(wanted).find((path) => {
    const want = wanted[path];
    const have = installed[path];
    // "" is the project itself. An optional package may be missing, because not every machine can use the package.
    if (path === '' || want.optional || want.devOptional) return false;
    return !have || have.version !== want.version || have.integrity !== want.integrity;
  });
}

/**
 * The reason for an install. Undefined: the packages are installed.
 * @param {string} root
 */
export function installProblem(root) {
  const lockText = readFileSync(join(root, 'package-lock.json'), 'utf8');
  const note = readIfThere(join(root, 'node_modules', NOTE));
  if (note === noteFor(lockText)) return undefined;
  const hiddenText = readIfThere(join(root, 'node_modules', '.package-lock.json'));
  if (hiddenText === undefined) return 'the packages are not installed yet';
  if (note !== undefined && !note.startsWith(noteFor(lockText).split(' ')[0])) {
    return 'package-lock.json has changed';
  }
  if (note !== undefined) return 'the packages were installed on another kind of machine';
  const different = firstDifference(lockText, hiddenText);
  return different && `${different} differs from package-lock.json`;
}

/** The npm that runs this script, or the npm on the PATH if this script does not run under npm. */
function npmCommand() {
  const runner = process.env.npm_execpath;
  if (runner && basename(runner) === 'npm-cli.js') return [process.execPath, runner];
  return ['npm'];
}

function run(root, [command, ...args]) {
  return new Promise((resolve, reject) => {
    // npm writes to standard error, because standard output may carry the data of a worker or a benchmark.
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 2, 2] });
    child.on('error', (error) => reject(new Error(`${command} could not be run: ${error.message}`)));
    child.on('exit', (code, signal) => resolve({ code, signal }));
  });
}

/**
 * @param {string} root
 * @param {string} reason
 * @param {(text: string) => void} log
 */
export async function install(root, reason, log) {
  log(`${reason}: npm ci`);
  // The build needs the development packages, even with NODE_ENV=production.
  const { code, signal } = await run(root, [...npmCommand(), 'ci', '--include=dev']);
  if (code !== 0) {
    const how = signal ? `was ended by ${signal}` : `failed with exit code ${code}`;
    throw new Error(`npm ci ${how}; see its output above. Nothing was built.`);
  }
  const lockText = readFileSync(join(root, 'package-lock.json'), 'utf8');
  writeFileSync(join(root, 'node_modules', NOTE), noteFor(lockText));
}
