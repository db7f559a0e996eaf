import { eventually } from '../eventually';

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Waits until no process has this id. */
export function untilGone(pid: number, timeoutMs = 20_000): Promise<true> {
  return eventually(`process ${pid} to be gone`, () => !isAlive(pid), { timeoutMs });
}
