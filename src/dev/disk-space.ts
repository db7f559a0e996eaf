import { statfs } from 'node:fs/promises';

/** With less free space, Redis cannot be expected to write its data. */
const LEAST_FREE_BYTES = 1024 * 1024;
/** How Redis and the system call a full disk or an exhausted quota. */
const DISK_FULL = /no space left|short write|disk quota exceeded/i;

/** The free space of a folder's file system for this user, in bytes. Undefined: the system does not tell. */
export async function freeBytes(folder: string): Promise<number | undefined> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    // Some virtual file systems report no blocks at all.
    return blocks > 0 ? bavail * bsize : undefined;
  } catch {
    return undefined;
  }
}

export async function isFull(folder: string): Promise<boolean> {
  const free = await freeBytes(folder);
  return free !== undefined && free < LEAST_FREE_BYTES;
}

export function diskFullText(folder: string): string {
  return `The disk of ${folder} is full: free some space`;
}

/** True: a call of this process failed because a disk is full or a quota is exhausted. */
export function isDiskError(error: unknown): boolean {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** True if the output of a program complains about a full disk. */
export function complainsOfFullDisk(output: string): boolean {
  return DISK_FULL.test(output);
}
