import { accessSync, constants, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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
