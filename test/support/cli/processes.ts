import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessState {
  readonly pid: number;
  /** A letter: R, S, D, T, Z and others. */
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly command: string;
}

/** The running processes of this machine, from /proc. */
export function allProcesses(): ProcessState[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => processState(Number(name)) ?? []);
}

/** Undefined: no process has this id. */
export function processState(pid: number): ProcessState | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state = '', ...numbers] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [parent = NaN, group = NaN, session = NaN] = numbers.slice(0, 3).map(Number);
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    return { pid, state, parent, group, session, command };
  } catch {
    return undefined;
  }
}

/** Whether the process can still do something. A zombie cannot. */
export function isRunning(pid: number): boolean {
  const state = processState(pid)?.state;
  return state !== undefined && state !== 'Z' && state !== 'X';
}

/** The watchdog that this process has started. */
export function watchdogOf(parent: number): ProcessState | undefined {
  return allProcesses().find((one) => one.parent === parent && one.command.includes('watchdog.js'));
}

/** The launcher that this watchdog has started. */
export function launcherOf(watchdog: number): ProcessState | undefined {
  return allProcesses().find((one) => one.parent === watchdog && one.command.includes('launcher.js'));
}
