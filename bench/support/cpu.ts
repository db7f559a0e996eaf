import { readdirSync, readFileSync } from 'node:fs';

/**
 * The CPU time of all threads of a process since its start, in user and system mode (ms). The file `schedstat` counts
 * nanoseconds. /proc/PID/stat rounds to 10 ms, which is too coarse for short rounds.
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
    return '0'; // The thread has ended after the folder was read.
  }
}

/** The resident memory of a process (bytes). */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (kilobytes === undefined) throw new Error(`/proc/${pid}/status lacks VmRSS`);
  return Number(kilobytes) * 1024;
}

/** The reason why this machine cannot measure processes, or undefined. */
export function measuringProblem(): string | undefined {
  try {
    cpuMs(process.pid);
    return undefined;
  } catch (error) {
    return `CPU time is read from /proc, which only Linux has: ${(error as Error).message}`;
  }
}
