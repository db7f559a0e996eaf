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

/** The result of some work, and the CPU time of each process during the work (ms). */
export async function cpuDuring<T>(
  pids: readonly number[],
  work: () => Promise<T>,
): Promise<{ result: T; spentMs: number[] }> {
  const before = pids.map(cpuMs);
  const result = await work();
  return { result, spentMs: pids.map((pid, index) => cpuMs(pid) - (before[index] ?? 0)) };
}

/** The CPU time of a server's threads since its start, by their work (ms). */
export interface ThreadCpu {
  readonly main: number;
  /** The threads of lower priority, which build layers and check large requests. */
  readonly builds: number;
  /** All other threads: long searches, garbage collection, input and output. */
  readonly others: number;
}

export function threadCpu(pid: number): ThreadCpu {
  const cpu = { main: 0, builds: 0, others: 0 };
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const ms = Number(readThread(pid, thread).split(' ')[0]) / 1e6;
    const isMain = thread === String(pid);
    cpu[isMain ? 'main' : niceOf(pid, thread) > niceOf(pid, String(pid)) ? 'builds' : 'others'] += ms;
  }
  return cpu;
}

/** The priority is the 19th field of the file `stat`. The name of the thread, in brackets, may have spaces. */
function niceOf(pid: number, thread: string): number {
  const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
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
