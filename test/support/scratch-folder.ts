import { accessSync, constants, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The environment variable with the folder of a test run. */
export const RUN_FOLDER = 'TEST_RUN_FOLDER';

/** Makes a folder for the tests of one file. It is removed after the test run, because servers watch files in it. */
export function scratchFolder(): string {
  const parent = process.env[RUN_FOLDER];
  if (parent === undefined) throw new Error('the global setup of the tests has not run');
  return mkdtempSync(join(parent, 'files-'));
}

const MEMORY_DISK = '/dev/shm';

/**
 * Makes a new folder, which the caller removes. `inMemory` asks for a tmpfs if the machine has a tmpfs. An fsync takes
 * almost no time in a tmpfs, so that a benchmark compares programs and not disks.
 */
export function makeScratchFolder(label: string, { inMemory = false } = {}): string {
  const parent = inMemory && isWritable(MEMORY_DISK) ? MEMORY_DISK : tmpdir();
  return mkdtempSync(join(parent, `holdfast-test-${label}-`));
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
