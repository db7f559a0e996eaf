import { readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';

/** The part of the machine that this process may use. */

/** The part of the memory that the indexes of dictionaries take by default. */
const DICTIONARY_SHARE = 1 / 4;
const MOST_DEFAULT_BYTES = 2 * 2 ** 30;

/** The default of HOLDFAST_DICTIONARY_MEMORY (bytes): a quarter of the memory of the container or machine. */
export function defaultDictionaryBytes(): number {
  // 0, or more than the memory of the machine: the container has no limit.
  const limit = process.constrainedMemory() || Infinity;
  return Math.min(Math.floor(Math.min(limit, totalmem()) * DICTIONARY_SHARE), MOST_DEFAULT_BYTES);
}

/** The number of cores that this process may use. A container may have less than one. */
export function coreCount(): number {
  return Math.min(availableParallelism(), coresOfQuota(readQuota()));
}

/** `cpuMax`: the file cpu.max of the container: the microseconds of a period that may be used, and the period. */
export function coresOfQuota(cpuMax: string): number {
  const [, used, period] = /^(\d+) (\d+)/.exec(cpuMax) ?? [];
  return used === undefined ? Infinity : Number(used) / Number(period);
}

function readQuota(): string {
  try {
    return readFileSync('/sys/fs/cgroup/cpu.max', 'utf8');
  } catch {
    return ''; // No container, or no Linux.
  }
}
