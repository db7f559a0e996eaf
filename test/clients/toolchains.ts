import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheDirectory } from '../../src/dev/cache-directory';
import { takePidLock } from '../../src/dev/pid-lock.cjs';
import { errorLineOf } from '../support/not-checked';
import { pythonEnvironment } from '../support/python-environment';
import { ROOT } from '../support/root';

const execute = promisify(execFile);
/** Timeouts for downloads, and for the first compilation on a slow machine. */
const FETCH_TIMEOUT_MS = 120_000;
const BUILD_TIMEOUT_MS = 150_000;

/** The command that starts a client, `[program, ...arguments]`, or the reason why the client cannot be built. */
export type BuiltClient =
  | { readonly command: readonly [string, ...string[]]; readonly env?: Readonly<Record<string, string>> }
  | { readonly missing: string };

function source(...path: readonly string[]): string {
  return join(ROOT, 'test', 'clients', ...path);
}

function generated(...path: readonly string[]): string {
  return join(ROOT, 'generated', ...path);
}

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

/** Compiles a client. The toolchain and its packages are there, so a failure is a defect and throws. */
async function compile(program: string, args: readonly string[], cwd: string): Promise<void> {
  try {
    await run(program, args, cwd, BUILD_TIMEOUT_MS);
  } catch (error) {
    const { stderr = '', message } = error as { stderr?: string; message: string };
    throw new Error(`${program} failed: ${message}\n${stderr.slice(-3000)}`, { cause: error });
  }
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .flatMap((path) => (statSync(path).isDirectory() ? filesBelow(path) : [path]))
    .sort();
}

function digestOf(files: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(file)).update('\0');
  return hash.digest('hex').slice(0, 16);
}

/** Fills a folder in the user's cache, unless an earlier run completed the folder. */
async function cached(name: string, make: (folder: string) => Promise<void>): Promise<string> {
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

export async function pythonClient(): Promise<BuiltClient> {
  const found = await pythonEnvironment(join(ROOT, 'examples', 'python-common', 'requirements.txt'));
  if ('missing' in found) return found;
  const env = { PYTHONPATH: generated('python'), PYTHONDONTWRITEBYTECODE: '1' };
  return { command: [found.python, source('python', 'main.py')], env };
}

/** @param scratch folder for the program. Go has its own build cache, so a second build is fast. */
export async function goClient(scratch: string): Promise<BuiltClient> {
  const folder = source('go');
  const missing =
    (await problemOf('Go is missing', () => run('go', ['version'], folder, FETCH_TIMEOUT_MS))) ??
    (await problemOf('the Go modules cannot be downloaded', () =>
      run('go', ['mod', 'download'], folder, FETCH_TIMEOUT_MS),
    ));
  if (missing !== undefined) return { missing };
  const program = join(scratch, 'go-client');
  await compile('go', ['build', '-buildvcs=false', '-o', program, '.'], folder);
  return { command: [program] };
}

export async function javaClient(): Promise<BuiltClient> {
  const pom = generated('java', 'pom.xml');
  let libraries = '';
  const fetch = async (): Promise<void> => {
    libraries = await cached(`test-java-libraries-${digestOf([pom])}`, (folder) =>
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
  const sources = [
    ...filesBelow(generated('java', 'src')),
    source('java', 'Frozen.java'),
    source('java', 'Main.java'),
  ];
  const jars = join(libraries, '*');
  const classes = await cached(`test-java-classes-${digestOf([pom, ...sources])}`, (folder) =>
    compile('javac', ['-nowarn', '-proc:none', '-d', folder, '-cp', jars, ...sources], folder),
  );
  return { command: ['java', '-cp', [classes, jars].join(delimiter), 'Main'] };
}
