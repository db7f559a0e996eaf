/**
 * Are the packages of package-lock.json installed, and if not, `npm ci`.
 *
 * Two witnesses, both inside node_modules so that they go with it: our own note, written after `npm ci` has
 * ended well; and npm's hidden lock file, which npm too writes last, so that an install made by hand counts. An
 * install that was interrupted leaves neither.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const NOTE = '.holdfast-installed';

function readIfThere(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

/** What our note says of an install of this lock file for this kind of machine (binaries differ). */
function noteFor(lockText) {
  const digest = createHash('sha256').update(lockText).digest('hex');
  return `${digest} ${process.platform}-${process.arch}\n`;
}

/** The first package of the lock file that npm's own record of the install lacks or has otherwise. */
function firstDifference(lockText, hiddenText) {
  const wanted = JSON.parse(lockText).packages;
  const installed = JSON.parse(hiddenText).packages;
  return Object.keys(wanted).find((path) => {
    const want = wanted[path];
    const have = installed[path];
    // "" is the project itself; what is optional may be missing where it does not fit the machine.
    if (path === '' || want.optional || want.devOptional) return false;
    return !have || have.version !== want.version || have.integrity !== want.integrity;
  });
}

/**
 * Why an install is needed, in words; undefined when it is not.
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
  return different && `${different} is not installed as package-lock.json says`;
}

/** The npm that runs us, where one does: it need not be the one on the PATH. */
function npmCommand() {
  const runner = process.env.npm_execpath;
  if (runner && basename(runner) === 'npm-cli.js') return [process.execPath, runner];
  return ['npm'];
}

function run(root, [command, ...args]) {
  return new Promise((resolve, reject) => {
    // Our own output may be somebody's data (a worker's, a benchmark's), so npm's goes to standard error.
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 2, 2] });
    child.on('error', (error) => reject(new Error(`${command} could not be run: ${error.message}`)));
    child.on('exit', (code, signal) => resolve({ code, signal }));
  });
}

/**
 * @param {string} root
 * @param {string} why
 * @param {(text: string) => void} say
 */
export async function install(root, why, say) {
  say(`${why}: npm ci`);
  // Building needs the development packages, whatever NODE_ENV says.
  const { code, signal } = await run(root, [...npmCommand(), 'ci', '--include=dev']);
  if (code !== 0) {
    const how = signal ? `was ended by ${signal}` : `failed with exit code ${code}`;
    throw new Error(`npm ci ${how}; its own words are above. Nothing was built.`);
  }
  const lockText = readFileSync(join(root, 'package-lock.json'), 'utf8');
  writeFileSync(join(root, 'node_modules', NOTE), noteFor(lockText));
}
