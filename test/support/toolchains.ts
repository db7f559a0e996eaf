import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheDirectory } from '../../src/dev/find-redis';
import { takePidLock } from '../../src/dev/pid-lock.cjs';
import { errorLineOf } from './not-checked';
import { ROOT } from './root';

/** Builds programs of other languages with the machine's toolchains and package registries. */

const execute = promisify(execFile);
/** Timeouts for downloads, and for the first compilation on a slow machine. */
const FETCH_TIMEOUT_MS = 120_000;
const BUILD_TIMEOUT_MS = 150_000;
/** For the first compilation of all libraries, too. */
const FIRST_BUILD_TIMEOUT_MS = 900_000;

export interface Program {
  /** `[program, ...arguments]` */
  readonly command: readonly [string, ...string[]];
  readonly env?: Readonly<Record<string, string>>;
}

/** A program, or the reason why the program cannot be built. */
export type BuiltProgram = Program | { readonly missing: string };

async function run(program: string, args: readonly string[], cwd: string, timeout: number): Promise<void> {
  await execute(program, args, { cwd, timeout, maxBuffer: 1e7 });
}

/** Runs a step that needs a toolchain or the network. If the step fails, resolves to the sentence with the error. */
async function problemOf(sentence: string, step: () => Promise<void>): Promise<string | undefined> {
  try {
    await step();
    return undefined;
  } catch (error) {
    return `${sentence}: ${errorLineOf(error)}`;
  }
}

/** Compiles a program. The toolchain and its packages are there, so a failure is a defect and throws. */
async function compile(program: string, args: readonly string[], cwd: string, timeoutMs = BUILD_TIMEOUT_MS) {
  try {
    await run(program, args, cwd, timeoutMs);
  } catch (error) {
    const { stderr = '', message } = error as { stderr?: string; message: string };
    throw new Error(`${program} failed: ${message}\n${stderr.slice(-3000)}`, { cause: error });
  }
}

export function filesBelow(folder: string): string[] {
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .flatMap((path) => (statSync(path).isDirectory() ? filesBelow(path) : [path]))
    .sort();
}

export function digestOf(files: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(file)).update('\0');
  return hash.digest('hex').slice(0, 16);
}

/** Fills a folder in the user's cache, unless an earlier run completed the folder. */
export async function cached(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = join((await cacheDirectory(process.env)) ?? tmpdir(), name);
  const unlock = await takePidLock(`${folder}.lock`, () => undefined);
  try {
    if (existsSync(join(folder, 'complete'))) return folder;
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    await make(folder);
    await writeFile(join(folder, 'complete'), '');
    return folder;
  } finally {
    unlock();
  }
}

export interface GoBuild {
  /** The folder of the module. */
  readonly module: string;
  /** The packages, in Go's notation. */
  readonly packages: string;
  /** The program, or the folder of the programs with a slash at its end. */
  readonly output: string;
  readonly timeoutMs?: number;
}

/** The reason why programs of a Go module cannot be built. Undefined: Go and the packages are there. */
export async function missingGo(module: string, timeoutMs = FETCH_TIMEOUT_MS): Promise<string | undefined> {
  return (
    (await problemOf('Go is missing', () => run('go', ['version'], module, FETCH_TIMEOUT_MS))) ??
    (await problemOf('the Go modules cannot be downloaded', () =>
      run('go', ['mod', 'download'], module, timeoutMs),
    ))
  );
}

/** Builds programs of a Go module. Resolves to the reason why they cannot be built, or to undefined. */
export async function buildGo({ module, packages, output, timeoutMs }: GoBuild): Promise<string | undefined> {
  const missing = await missingGo(module, timeoutMs);
  if (missing !== undefined) return missing;
  await compile('go', ['build', '-buildvcs=false', '-o', output, packages], module, timeoutMs);
  return undefined;
}

/** Why the project of a pom.xml cannot be built here. Undefined: Java, Maven and the libraries are there. */
export async function missingJava(pom: string): Promise<string | undefined> {
  // An error of the compiler is a defect, which the test shows.
  return buildMaven(pom).catch(() => undefined);
}

/** Builds the project of a pom.xml. Resolves to the reason why it cannot be built, or to undefined. */
export async function buildMaven(pom: string): Promise<string | undefined> {
  const tool = (name: string, args: readonly string[]) => () => run(name, args, ROOT, FETCH_TIMEOUT_MS);
  const missing =
    (await problemOf('the JDK is missing', tool('javac', ['-version']))) ??
    (await problemOf('Maven is missing', tool('mvn', ['--version'])));
  if (missing !== undefined) return missing;
  const args = ['-q', '-B', '-f', pom, 'package', '-DskipTests'];
  try {
    await run('mvn', args, ROOT, FIRST_BUILD_TIMEOUT_MS);
    return undefined;
  } catch (error) {
    const problem = errorLineOf(error);
    if (!/could not (?:transfer|resolve|find artifact)/i.test(problem)) {
      throw new Error(`mvn -f ${pom} failed: ${problem}`, { cause: error });
    }
    return `the Java libraries cannot be downloaded: ${problem}`;
  }
}

/** The reason why a crate cannot be built. Undefined: cargo and the locked crates are there. */
export async function missingRust(crate: string): Promise<string | undefined> {
  return (
    (await problemOf('Rust is missing', () => run('cargo', ['--version'], crate, FETCH_TIMEOUT_MS))) ??
    (await problemOf('the crates cannot be downloaded', () =>
      run('cargo', ['fetch', '--locked'], crate, FETCH_TIMEOUT_MS),
    ))
  );
}

/** Builds the programs of a crate. Resolves to the reason why they cannot be built, or to undefined. `more`: for cargo. */
export async function buildRust(crate: string, more: readonly string[] = []): Promise<string | undefined> {
  const missing = await missingRust(crate);
  if (missing !== undefined) return missing;
  await compile(
    'cargo',
    ['build', '--quiet', '--locked', '--offline', ...more],
    crate,
    FIRST_BUILD_TIMEOUT_MS,
  );
  return undefined;
}

/** Compiles Java files with the libraries of a pom.xml. Resolves to their class path. */
export async function buildJava(
  pom: string,
  sources: readonly string[],
): Promise<{ readonly classPath: string } | { readonly missing: string }> {
  let libraries = '';
  const fetch = async (): Promise<void> => {
    libraries = await cached(`java-libraries-${digestOf([pom])}`, (folder) =>
      run(
        'mvn',
        ['-q', '-B', '-f', pom, 'dependency:copy-dependencies', `-DoutputDirectory=${folder}`],
        folder,
        FETCH_TIMEOUT_MS,
      ),
    );
  };
  const missing =
    (await problemOf('the JDK is missing', () => run('javac', ['-version'], ROOT, FETCH_TIMEOUT_MS))) ??
    (await problemOf('the Java libraries cannot be downloaded', fetch));
  if (missing !== undefined) return { missing };
  const jars = join(libraries, '*');
  const classes = await cached(`java-classes-${digestOf([pom, ...sources])}`, (folder) =>
    compile('javac', ['-nowarn', '-proc:none', '-d', folder, '-cp', jars, ...sources], folder),
  );
  return { classPath: [classes, jars].join(delimiter) };
}

const runPython = promisify(execFile);
const PROBE_TIMEOUT_MS = 30_000;
/** For a slow package registry. Without a registry, pip fails much sooner. */
const INSTALL_TIMEOUT_MS = 150_000;

/** The oldest Python that the stubs and the pinned generators support. */
const OLDEST_PYTHON = '3.8';
const CHECK = `import sys; sys.exit(0 if sys.version_info >= (${OLDEST_PYTHON.replace('.', ', ')}) else 1)`;

/** A Python with the packages of a requirements file, or the reason why there is none. */
export type PythonEnvironment = { readonly python: string } | { readonly missing: string };

async function build(folder: string, requirements: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await runPython('python3', ['-m', 'venv', folder], { timeout: INSTALL_TIMEOUT_MS });
  const pip = ['-m', 'pip', 'install', '--quiet', '--retries', '1', '--timeout', '20', '-r', requirements];
  await runPython(join(folder, 'bin', 'python'), pip, { timeout: INSTALL_TIMEOUT_MS });
  // Written last, so that an incomplete folder is built again.
  await writeFile(join(folder, 'complete'), '');
}

/** Builds the environment once for each requirements file and Python, in the user's cache, with the machine's pip. */
export async function pythonEnvironment(requirements: string): Promise<PythonEnvironment> {
  let version: string;
  try {
    await runPython('python3', ['-c', CHECK], { timeout: PROBE_TIMEOUT_MS });
    version = (await runPython('python3', ['-VV'], { timeout: PROBE_TIMEOUT_MS })).stdout;
  } catch {
    return { missing: `no python3 of version ${OLDEST_PYTHON} or later was found` };
  }
  const digest = createHash('sha256').update(version).update(readFileSync(requirements)).digest('hex');
  const cache = (await cacheDirectory(process.env)) ?? tmpdir();
  const folder = join(cache, `test-python-${digest.slice(0, 16)}`);
  const unlock = await takePidLock(`${folder}.lock`, () => undefined);
  try {
    if (!existsSync(join(folder, 'complete'))) await build(folder, requirements);
    return { python: join(folder, 'bin', 'python') };
  } catch (error) {
    return { missing: `its packages could not be installed: ${errorLineOf(error)}` };
  } finally {
    unlock();
  }
}
