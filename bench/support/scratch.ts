import { constants } from 'node:fs';
import { access, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY_DISK = '/dev/shm';

/**
 * A folder in memory where the machine has one (tmpfs): a store's fsync costs next to nothing there, so what is
 * compared is the work of programs, not of two disks.
 */
export async function scratchFolder(label: string): Promise<string> {
  const parent = await access(MEMORY_DISK, constants.W_OK).then(
    () => MEMORY_DISK,
    () => tmpdir(),
  );
  return mkdtemp(join(parent, `holdfast-bench-${label}-`));
}
