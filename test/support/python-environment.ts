import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheDirectory } from '../../src/dev/find-redis';
import { takePidLock } from '../../src/dev/pid-lock.cjs';
import { errorLineOf } from './not-checked';

const run = promisify(execFile);
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
  await run('python3', ['-m', 'venv', folder], { timeout: INSTALL_TIMEOUT_MS });
  const pip = ['-m', 'pip', 'install', '--quiet', '--retries', '1', '--timeout', '20', '-r', requirements];
  await run(join(folder, 'bin', 'python'), pip, { timeout: INSTALL_TIMEOUT_MS });
  // Written last, so that an incomplete folder is built again.
  await writeFile(join(folder, 'complete'), '');
}

/** Builds the environment once for each requirements file and Python, in the user's cache, with the machine's pip. */
export async function pythonEnvironment(requirements: string): Promise<PythonEnvironment> {
  let version: string;
  try {
    await run('python3', ['-c', CHECK], { timeout: PROBE_TIMEOUT_MS });
    version = (await run('python3', ['-VV'], { timeout: PROBE_TIMEOUT_MS })).stdout;
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
