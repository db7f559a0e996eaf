import { readdirSync, readFileSync } from 'node:fs';

/**
 * CPU time that a process has used since its start, in user and system mode, all its threads together (ms).
 * Read from outside, so what is measured knows nothing of it. The kernel counts nanoseconds here, where
 * /proc/PID/stat rounds the same sum to 10 ms, so that short slices can take turns.
 */
export function cpuMs(pid: number): number {
  let nanoseconds = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const [ran] = readThread(pid, thread).split(' ');
    nanoseconds += Number(ran);
  }
  return nanoseconds / 1e6;
}

function readThread(pid: number, thread: string): string {
  try {
    return readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8');
  } catch {
    return '0'; // it has ended since the folder was read
  }
}

/** Memory of a process that is in RAM now (bytes). */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (kilobytes === undefined) throw new Error(`/proc/${pid}/status does not tell VmRSS`);
  return Number(kilobytes) * 1024;
}

/** Says what is missing where processes cannot be measured from outside. */
export function measuringProblem(): string | undefined {
  try {
    cpuMs(process.pid);
    return undefined;
  } catch (error) {
    return `CPU time is read from /proc, which only Linux has: ${(error as Error).message}`;
  }
}
