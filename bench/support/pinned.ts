import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';

function pinTo(cores: string): void {
  execFileSync('taskset', ['-acp', cores, String(process.pid)], { stdio: 'ignore' });
}

/** The processes that start during this work have only the first core. */
export async function startingOnOneCore<T>(work: () => Promise<T>): Promise<T> {
  pinTo('0');
  try {
    return await work();
  } finally {
    pinTo(`0-${cpus().length - 1}`);
  }
}
